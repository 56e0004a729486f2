// Security keys of a Kafka client, as a mirror uses them towards its source. Java classes cannot be
// loaded: of the class keys only Kafka's own values are legal, which kmirror's code stands in for.
// Sources: Kafka 4.4 SaslConfigs, SslConfigs, CommonClientConfigs; the seeds' table of mirror keys.
#include "metadata/config_tables.h"

namespace kmirror::metadata {
namespace {

const char* const kOauthPackage = "org.apache.kafka.common.security.oauthbearer.";

std::vector<ConfigDef> protocol_keys() {
  return {
      ConfigDef("security.protocol", kString, "PLAINTEXT", "",
                "How the source is spoken to: in the clear or by TLS, with SASL or without.")
          .one_of({"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"})
          .checked_by(ConfigCheck::kChoicesAnyCase),
      ConfigDef("security.providers", kString, std::nullopt, "",
                "Java security providers. Not used; must be empty.")
          .one_of({""}),
      ConfigDef("sasl.mechanism", kString, "PLAIN", "", "How we log in at the source.")
          .one_of({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER"}),
      ConfigDef("sasl.jaas.config", kPassword, std::nullopt, "",
                "Credentials in JAAS form, ending in a semicolon."),
  };
}

std::vector<ConfigDef> login_keys() {
  const std::string package = kOauthPackage;
  return {
      ConfigDef("sasl.client.callback.handler.class", kClass, std::nullopt, "",
                "Java class. Only Kafka's own for OAUTHBEARER is understood.")
          .one_of({"", package + "internals.OAuthBearerSaslClientCallbackHandler"}),
      ConfigDef("sasl.login.callback.handler.class", kClass, std::nullopt, "",
                "Java class. Only Kafka's own for OAUTHBEARER is understood.")
          .one_of({"", package + "OAuthBearerLoginCallbackHandler",
                   package + "secured.OAuthBearerLoginCallbackHandler"}),
      ConfigDef("sasl.login.class", kClass, std::nullopt, "",
                "Java class. Only Kafka's own are understood.")
          .one_of({"", "org.apache.kafka.common.security.authenticator.DefaultLogin",
                   "org.apache.kafka.common.security.kerberos.KerberosLogin",
                   package + "internals.OAuthBearerRefreshingLogin"}),
      ConfigDef("sasl.kerberos.service.name", kString, std::nullopt, "",
                "First part of the brokers' Kerberos principal."),
      ConfigDef("sasl.kerberos.kinit.cmd", kString, "/usr/bin/kinit", "",
                "Command that renews a Kerberos ticket."),
      ConfigDef("sasl.kerberos.ticket.renew.jitter", kDouble, "0.05", "",
                "Random share of the renewal time that is added to it."),
      ConfigDef("sasl.kerberos.ticket.renew.window.factor", kDouble, "0.8", "",
                "Share of a ticket's life after which it is renewed."),
      ConfigDef("sasl.kerberos.min.time.before.relogin", kLong, "60000", "ms",
                "Least time between two Kerberos log-ins."),
      ConfigDef("sasl.login.connect.timeout.ms", kInt, std::nullopt, "ms",
                "Limit for connecting to the token endpoint."),
      ConfigDef("sasl.login.read.timeout.ms", kInt, std::nullopt, "ms",
                "Limit for an answer of the token endpoint."),
      ConfigDef("sasl.login.retry.backoff.ms", kLong, "100", "ms",
                "First wait before the token endpoint is asked again."),
      ConfigDef("sasl.login.retry.backoff.max.ms", kLong, "10000", "ms",
                "Longest wait before the token endpoint is asked again."),
      ConfigDef("sasl.login.refresh.window.factor", kDouble, "0.8", "",
                "Share of a credential's life after which it is renewed.")
          .between(0.5, 1.0),
      ConfigDef("sasl.login.refresh.window.jitter", kDouble, "0.05", "",
                "Random share of that life that is added.")
          .between(0.0, 0.25),
      ConfigDef("sasl.login.refresh.min.period.seconds", kShort, "60", "seconds",
                "Least time before a renewal.")
          .range(0, 900),
      ConfigDef("sasl.login.refresh.buffer.seconds", kShort, "300", "seconds",
                "A credential is renewed at the latest so long before it expires.")
          .range(0, 3600),
  };
}

std::vector<ConfigDef> oauth_keys() {
  return {
      ConfigDef("sasl.oauthbearer.token.endpoint.url", kString, std::nullopt, "",
                "Where a bearer token is asked for."),
      ConfigDef("sasl.oauthbearer.client.credentials.client.id", kString, std::nullopt, "",
                "Client id for the token request."),
      ConfigDef("sasl.oauthbearer.client.credentials.client.secret", kPassword, std::nullopt, "",
                "Client secret for the token request."),
      ConfigDef("sasl.oauthbearer.scope", kString, std::nullopt, "",
                "Scope that the token request asks for."),
      ConfigDef("sasl.oauthbearer.scope.claim.name", kString, "scope", "",
                "Claim of the token that holds the scope."),
      ConfigDef("sasl.oauthbearer.sub.claim.name", kString, "sub", "",
                "Claim of the token that holds the principal."),
      ConfigDef("sasl.oauthbearer.header.urlencode", kBoolean, "false", "",
                "Whether client id and secret are URL-encoded in the request's header."),
  };
}

std::vector<ConfigDef> store_keys() {
  return {
      ConfigDef("ssl.keystore.type", kString, "JKS", "", "Form of the key store.")
          .one_of({"JKS", "PKCS12", "PEM"}),
      ConfigDef("ssl.keystore.location", kString, std::nullopt, "", "Path of the key store."),
      ConfigDef("ssl.keystore.password", kPassword, std::nullopt, "", "Password of the key store."),
      ConfigDef("ssl.keystore.key", kPassword, std::nullopt, "",
                "Private key in PEM form, instead of a file."),
      ConfigDef("ssl.keystore.certificate.chain", kPassword, std::nullopt, "",
                "Certificates of that key in PEM form."),
      ConfigDef("ssl.key.password", kPassword, std::nullopt, "", "Password of the private key."),
      ConfigDef("ssl.truststore.type", kString, "JKS", "", "Form of the trust store.")
          .one_of({"JKS", "PKCS12", "PEM"}),
      ConfigDef("ssl.truststore.location", kString, std::nullopt, "", "Path of the trust store."),
      ConfigDef("ssl.truststore.password", kPassword, std::nullopt, "",
                "Password of the trust store."),
      ConfigDef("ssl.truststore.certificates", kPassword, std::nullopt, "",
                "Trusted certificates in PEM form, instead of a file."),
  };
}

std::vector<ConfigDef> tls_keys() {
  return {
      ConfigDef("ssl.protocol", kString, "TLSv1.3", "", "Highest TLS version.")
          .one_of({"TLSv1.2", "TLSv1.3", "TLS"}),
      ConfigDef("ssl.enabled.protocols", kList, "TLSv1.2,TLSv1.3", "", "TLS versions in use.")
          .one_of({"TLSv1.2", "TLSv1.3"}),
      ConfigDef("ssl.cipher.suites", kList, "", "", "Cipher suites by IANA name; empty for all."),
      ConfigDef("ssl.endpoint.identification.algorithm", kString, "https", "",
                "https compares a broker's name with its certificate; empty does not.")
          .one_of({"https", "HTTPS", ""}),
      ConfigDef("ssl.provider", kString, std::nullopt, "",
                "Java TLS provider. Not used; must be empty.")
          .one_of({""}),
      ConfigDef("ssl.keymanager.algorithm", kString, "SunX509", "", "Java setting, not used."),
      ConfigDef("ssl.trustmanager.algorithm", kString, "PKIX", "", "Java setting, not used."),
      ConfigDef("ssl.secure.random.implementation", kString, std::nullopt, "",
                "Java setting, not used."),
      ConfigDef("ssl.engine.factory.class", kClass, std::nullopt, "",
                "Java class. Only Kafka's own is understood.")
          .one_of({"", "org.apache.kafka.common.security.ssl.DefaultSslEngineFactory"}),
  };
}

}  // namespace

std::vector<ConfigDef> client_security_keys() {
  std::vector<ConfigDef> keys = protocol_keys();
  append(keys, login_keys());
  append(keys, oauth_keys());
  append(keys, store_keys());
  append(keys, tls_keys());
  return keys;
}

}  // namespace kmirror::metadata
