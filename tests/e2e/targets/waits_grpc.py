# SPDX-License-Identifier: Apache-2.0
"""A gRPC server and thirty threads that call it."""

import threading
from concurrent import futures

import grpc


class Handler(grpc.GenericRpcHandler):
    def service(self, handler_call_details):
        del handler_call_details
        return grpc.unary_unary_rpc_method_handler(lambda request, context: request[::-1])


server = grpc.server(futures.ThreadPoolExecutor(4))
server.add_generic_rpc_handlers((Handler(),))
port = server.add_insecure_port("127.0.0.1:0")
server.start()
channel = grpc.insecure_channel(f"127.0.0.1:{port}")
call = channel.unary_unary("/a/b")
answers = []
threads = [
    threading.Thread(target=lambda number=number: answers.append(call(b"m%d" % number, timeout=60)))
    for number in range(30)
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(answers))
channel.close()
server.stop(0).wait()
