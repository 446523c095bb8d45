import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.zip.GZIPInputStream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Requests a gzip response, decompresses its body as a stream or at once, and writes the text to standard output. */
class Inflate {
  public static void main(String[] args) throws Exception {
    HttpClient client = HttpClient.newBuilder().sslContext(trusting(args[1])).build();
    HttpRequest request = HttpRequest.newBuilder(URI.create(args[2]))
        .header("Accept", "application/json").header("Accept-Encoding", "gzip").build();
    HttpResponse<InputStream> answer = client.send(request, HttpResponse.BodyHandlers.ofInputStream());
    if (answer.statusCode() != 200 || !answer.headers().firstValue("Content-Encoding").orElse("").equals("gzip")) {
      System.err.println(answer.statusCode() + " " + answer.headers());
      System.exit(1);
    }
    InputStream body = answer.body();
    if (args[0].equals("whole")) {
      body = new ByteArrayInputStream(body.readAllBytes());
    }
    new GZIPInputStream(body).transferTo(System.out);
    System.out.flush();
    System.exit(0); // the client's threads would linger
  }

  private static SSLContext trusting(String file) throws Exception {
    KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
    trusted.load(null, null);
    try (InputStream pem = Files.newInputStream(Path.of(file))) {
      trusted.setCertificateEntry("server", CertificateFactory.getInstance("X.509").generateCertificate(pem));
    }
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return context;
  }
}
