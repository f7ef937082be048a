/* SPDX-License-Identifier: Apache-2.0
 *
 * Certificates, by GnuTLS.
 */
#include "serve/http/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "serve/http/secret.h"

enum { YEAR_S = 365 * 24 * 3600, MONTH_S = 30 * 24 * 3600, DAY_S = 24 * 3600, SERIAL_BYTES = 16 };

static const char certificate_file[] = "certificate.pem";
static const char key_file[] = "key.pem";

static enum st_status read_file(const char *path, char *out, struct st_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat about;
	ssize_t got = -1;

	if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
	    about.st_size < ST_PEM_MAX)
		got = read(fd, out, ST_PEM_MAX - 1);
	if (fd >= 0)
		close(fd);
	if (got <= 0)
		return st_error_set(err, ST_EUSAGE, fd < 0 ? errno : 0,
				    "%.300s: cannot be read as a PEM file", path);
	out[got] = '\0';
	return ST_OK;
}

/* How the certificate is recognised by a person; false: it is none. */
static bool find_print(struct st_tls *tls, time_t *until)
{
	gnutls_datum_t text = {(unsigned char *)tls->certificate,
			       (unsigned int)strlen(tls->certificate)};
	gnutls_x509_crt_t certificate = NULL;
	uint8_t hash[32];
	size_t size = sizeof(hash);
	bool is_ok =
		gnutls_x509_crt_init(&certificate) == 0 &&
		gnutls_x509_crt_import(certificate, &text, GNUTLS_X509_FMT_PEM) == 0 &&
		gnutls_x509_crt_get_fingerprint(certificate, GNUTLS_DIG_SHA256, hash, &size) == 0;

	for (size_t i = 0; is_ok && i < sizeof(hash); i++)
		snprintf(tls->print + 3 * i, sizeof(tls->print) - 3 * i, "%02X%s", hash[i],
			 i + 1 < sizeof(hash) ? ":" : "");
	if (is_ok && until)
		*until = gnutls_x509_crt_get_expiration_time(certificate);
	if (certificate)
		gnutls_x509_crt_deinit(certificate);
	return is_ok;
}

enum st_status st_tls_read(struct st_tls *tls, const char *certificate_path, const char *key_path,
			   struct st_error *err)
{
	enum st_status status = read_file(certificate_path, tls->certificate, err);

	if (!status)
		status = read_file(key_path, tls->key, err);
	if (!status && !find_print(tls, NULL))
		status = st_error_set(err, ST_EUSAGE, 0, "%.300s is not a certificate (PEM)",
				      certificate_path);
	return status;
}

static int add_name(gnutls_x509_crt_t certificate, const char *name)
{
	struct in6_addr six;
	struct in_addr four;

	if (inet_pton(AF_INET, name, &four) == 1)
		return gnutls_x509_crt_set_subject_alt_name(
			certificate, GNUTLS_SAN_IPADDRESS, &four, sizeof(four), GNUTLS_FSAN_APPEND);
	if (inet_pton(AF_INET6, name, &six) == 1)
		return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_IPADDRESS, &six,
							    sizeof(six), GNUTLS_FSAN_APPEND);
	return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_DNSNAME, name,
						    (unsigned int)strlen(name), GNUTLS_FSAN_APPEND);
}

/* What a certificate says, but its signature. */
static int fill(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key, const char *const *names,
		size_t name_count)
{
	uint8_t serial[SERIAL_BYTES];
	time_t now = time(NULL);
	int failed = getrandom(serial, sizeof(serial), 0) == (ssize_t)sizeof(serial) ? 0 : -1;

	serial[0] &= 0x7f;
	if (!failed)
		failed = gnutls_x509_crt_set_version(certificate, 3);
	if (!failed)
		failed = gnutls_x509_crt_set_serial(certificate, serial, sizeof(serial));
	if (!failed)
		failed = gnutls_x509_crt_set_activation_time(certificate, now - DAY_S);
	if (!failed)
		failed = gnutls_x509_crt_set_expiration_time(certificate, now + YEAR_S);
	if (!failed)
		failed = gnutls_x509_crt_set_dn(certificate, "CN=strata serve", NULL);
	if (!failed)
		failed = gnutls_x509_crt_set_key(certificate, key);
	if (!failed)
		failed = gnutls_x509_crt_set_basic_constraints(certificate, 0, -1);
	if (!failed)
		failed = gnutls_x509_crt_set_key_usage(certificate, GNUTLS_KEY_DIGITAL_SIGNATURE);
	if (!failed)
		failed = gnutls_x509_crt_set_key_purpose_oid(certificate, GNUTLS_KP_TLS_WWW_SERVER,
							     0);
	for (size_t i = 0; i < name_count && !failed; i++)
		failed = add_name(certificate, names[i]);
	return failed;
}

static int make(struct st_tls *tls, const char *const *names, size_t name_count)
{
	gnutls_x509_crt_t certificate = NULL;
	gnutls_x509_privkey_t key = NULL;
	size_t key_bytes = sizeof(tls->key) - 1, bytes = sizeof(tls->certificate) - 1;
	int failed = gnutls_x509_privkey_init(&key);

	if (!failed)
		failed = gnutls_x509_privkey_generate(
			key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
	if (!failed)
		failed = gnutls_x509_crt_init(&certificate);
	if (!failed)
		failed = fill(certificate, key, names, name_count);
	if (!failed)
		failed = gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0);
	if (!failed)
		failed = gnutls_x509_crt_export(certificate, GNUTLS_X509_FMT_PEM, tls->certificate,
						&bytes);
	if (!failed)
		failed = gnutls_x509_privkey_export(key, GNUTLS_X509_FMT_PEM, tls->key, &key_bytes);
	if (!failed) {
		tls->certificate[bytes] = '\0';
		tls->key[key_bytes] = '\0';
	}
	if (certificate)
		gnutls_x509_crt_deinit(certificate);
	if (key)
		gnutls_x509_privkey_deinit(key);
	return failed;
}

enum st_status st_tls_own(struct st_tls *tls, int private_fd, const char *const *names,
			  size_t name_count, struct st_error *err)
{
	time_t until = 0;
	enum st_status status;
	int failed;

	if (!st_private_read(private_fd, certificate_file, tls->certificate, ST_PEM_MAX, err) &&
	    !st_private_read(private_fd, key_file, tls->key, ST_PEM_MAX, err) &&
	    find_print(tls, &until) && until > time(NULL) + MONTH_S)
		return ST_OK;
	failed = make(tls, names, name_count);
	if (failed)
		return st_error_set(err, ST_EIO, 0, "a certificate cannot be made: %s",
				    gnutls_strerror(failed));
	/* Without an old certificate, which a new key would not fit. */
	unlinkat(private_fd, certificate_file, 0);
	status = st_private_write(private_fd, key_file, tls->key, strlen(tls->key), err);
	if (!status)
		status = st_private_write(private_fd, certificate_file, tls->certificate,
					  strlen(tls->certificate), err);
	if (!status && !find_print(tls, NULL))
		status = st_error_set(err, ST_EIO, 0, "the certificate that was made is not valid");
	return status;
}
