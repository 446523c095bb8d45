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

// answerWithin bounds one question. A server that is just starting may accept a connection and not answer.
const answerWithin = 5 * time.Second

// doneWithin bounds what is asked to be done, once: a machine that is busy with something else takes its time.
const doneWithin = time.Minute

// shownBytes is how much of a refusal an error message shows.
const shownBytes = 2048

// Client asks the servers of one authority.
type Client struct {
	http *http.Client
}

// RefusalError says that a server answered with something else than 200.
type RefusalError struct {
	URL    string
	Status string // "500 Internal Server Error"
	Body   string // its beginning
}

func (e *RefusalError) Error() string { return fmt.Sprintf("%s: %s: %s", e.URL, e.Status, e.Body) }

// NewClient makes a client that trusts the authority in caFile and shows the pair; an empty pair means anonymous.
func NewClient(caFile string, pair pki.Pair) (*Client, error) {
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("read authority: %w", err)
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
	// Without keep-alives no connection outlives the server that it leads to, nor this client.
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	return &Client{http: &http.Client{Transport: transport}}, nil
}

// Get succeeds when the server answers 200; any other status is a *RefusalError.
func (c *Client) Get(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	_, err := c.do(ctx, http.MethodGet, url, nil)
	return err
}

// Post sends question as JSON and decodes the answer into answer unless that is nil.
func (c *Client) Post(ctx context.Context, url string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("encode question: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, doneWithin)
	defer cancel()
	data, err := c.do(ctx, http.MethodPost, url, body)
	if err != nil || answer == nil {
		return err
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("decode answer of %s: %w", url, err)
	}
	return nil
}

func (c *Client) do(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // read to its end
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read answer of %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, &RefusalError{URL: url, Status: response.Status, Body: string(data[:min(len(data), shownBytes)])}
	}
	return data, nil
}
