! SPDX-License-Identifier: Apache-2.0
!
! A Fortran program that marks its tasks through the C interface of a real ITT static part: the pointer
! variables of the library it is linked with, as iso_c_binding sees them.
! usage: fortran_tasks (ten solves, each with three sweeps)
module itt
  use iso_c_binding
  implicit none
  type, bind(C) :: itt_id
    integer(c_int64_t) :: d1 = 0, d2 = 0, d3 = 0
  end type
  type(c_funptr), bind(C, name="__itt_domain_create_ptr__3_0") :: domain_create_ptr
  type(c_funptr), bind(C, name="__itt_string_handle_create_ptr__3_0") :: string_handle_create_ptr
  type(c_funptr), bind(C, name="__itt_task_begin_ptr__3_0") :: task_begin_ptr
  type(c_funptr), bind(C, name="__itt_task_end_ptr__3_0") :: task_end_ptr
  type(c_funptr), bind(C, name="__itt_counter_inc_delta_v3_ptr__3_0") :: counter_inc_delta_v3_ptr
  abstract interface
    function create_fn(name) bind(C) result(object)
      import
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr) :: object
    end function
    subroutine task_begin_fn(domain, id, parent, name) bind(C)
      import
      type(c_ptr), value :: domain, name
      type(itt_id), value :: id, parent
    end subroutine
    subroutine task_end_fn(domain) bind(C)
      import
      type(c_ptr), value :: domain
    end subroutine
    subroutine add_fn(domain, name, amount) bind(C)
      import
      type(c_ptr), value :: domain, name
      integer(c_int64_t), value :: amount
    end subroutine
  end interface
contains
  function create(pointer, name) result(object)
    type(c_funptr), intent(in) :: pointer
    character(len=*), intent(in) :: name
    type(c_ptr) :: object
    procedure(create_fn), pointer :: call_it
    object = c_null_ptr
    if (.not. c_associated(pointer)) return
    call c_f_procpointer(pointer, call_it)
    object = call_it(name // c_null_char)
  end function

  subroutine task_begin(domain, name)
    type(c_ptr), intent(in) :: domain, name
    procedure(task_begin_fn), pointer :: call_it
    type(itt_id) :: none
    if (.not. c_associated(domain) .or. .not. c_associated(task_begin_ptr)) return
    call c_f_procpointer(task_begin_ptr, call_it)
    call call_it(domain, none, none, name)
  end subroutine

  subroutine task_end(domain)
    type(c_ptr), intent(in) :: domain
    procedure(task_end_fn), pointer :: call_it
    if (.not. c_associated(domain) .or. .not. c_associated(task_end_ptr)) return
    call c_f_procpointer(task_end_ptr, call_it)
    call call_it(domain)
  end subroutine

  subroutine count_up(domain, name, amount)
    type(c_ptr), intent(in) :: domain, name
    integer(c_int64_t), intent(in) :: amount
    procedure(add_fn), pointer :: call_it
    if (.not. c_associated(domain) .or. .not. c_associated(counter_inc_delta_v3_ptr)) return
    call c_f_procpointer(counter_inc_delta_v3_ptr, call_it)
    call call_it(domain, name, amount)
  end subroutine
end module

program fortran_tasks
  use itt
  implicit none
  type(c_ptr) :: domain, solve, sweep, cells
  integer :: i, j
  real(8) :: field(4096), total
  domain = create(domain_create_ptr, "fortran")
  solve = create(string_handle_create_ptr, "solve")
  sweep = create(string_handle_create_ptr, "sweep")
  cells = create(string_handle_create_ptr, "cells")
  field = 1.0d0
  do i = 1, 10
    call task_begin(domain, solve)
    do j = 1, 3
      call task_begin(domain, sweep)
      field = field * 1.5d0 - 0.5d0
      call count_up(domain, cells, int(size(field), c_int64_t))
      call task_end(domain)
    end do
    call task_end(domain)
  end do
  total = sum(field)
  print '(a, f0.1)', "total ", total
end program
