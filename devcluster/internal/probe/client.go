package probe

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/listfacade/listfacade/devcluster/internal/pki"
)

// answerWithin is the timeout of a Get. A starting server may accept a connection without responding.
const answerWithin = 5 * time.Second

// doneWithin is the timeout of a Post. A write may take long on a busy machine.
const doneWithin = time.Minute

const shownBytes = 2048

// Client sends requests to servers whose certificates are signed by one authority.
type Client struct {
	http *http.Client
}

// RefusalError is returned for a response with a status other than 200.
type RefusalError struct {
	URL    string
	Status string // "500 Internal Server Error"
	Body   string // first bytes of the body
}

func (e *RefusalError) Error() string { return fmt.Sprintf("%s: %s: %s", e.URL, e.Status, e.Body) }

// NewClient returns a client that trusts the authority in caFile and presents the pair. With an empty pair, the client
// is anonymous.
func NewClient(caFile string, pair pki.Pair) (*Client, error) {
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("read CA certificate: %w", err)
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("no certificate in %s", caFile)
	}
	if pair != (pki.Pair{}) {
		certificate, err := tls.LoadX509KeyPair(pair.CertFile, pair.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	// Without keep-alives, connections do not outlive the server or the client.
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	return &Client{http: &http.Client{Transport: transport}}, nil
}

// Get succeeds if the server responds with 200; any other status is a *RefusalError.
func (c *Client) Get(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	_, err := c.do(ctx, http.MethodGet, url, nil)
	return err
}

// Post sends question as JSON and decodes the response into answer. If answer is nil, the response is ignored.
func (c *Client) Post(ctx context.Context, url string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, doneWithin)
	defer cancel()
	data, err := c.do(ctx, http.MethodPost, url, body)
	if err != nil || answer == nil {
		return err
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("decode response of %s: %w", url, err)
	}
	return nil
}

func (c *Client) do(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("create request: %w", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // the body is read completely
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read response of %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, &RefusalError{URL: url, Status: response.Status, Body: string(data[:min(len(data), shownBytes)])}
	}
	return data, nil
}
