package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// MediaJSON is the media type of JSON.
const MediaJSON = "application/json"

// Media types of the metadata of an object and of a list, in JSON.
const (
	MediaMetadata     = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	MediaMetadataList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
)

// maxErrorBody bounds the body of a response other than 200, in bytes. A Status has a few hundred bytes.
const maxErrorBody = 64 << 10

// maxReview bounds the response to a review, in bytes. The response repeats the request and may list many groups.
const maxReview = 1 << 20

// answerWait bounds the time until a response's headers arrive, and the duration of Get. kube-apiserver ends requests
// after a minute, so a response that takes longer will not arrive.
const answerWait = 90 * time.Second

// Client sends GET requests and reviews to the upstream with the credentials of the facade's kubeconfig. Safe for
// concurrent use.
type Client struct {
	base *url.URL
	http *http.Client
	// transport without the facade's credentials, with separate connections, for clients' tokens and anonymous callers
	anonymous outageTransport
	outage    *outage
	hop       Hop
}

// Observer is notified of requests to the upstream. Implementations must be safe for concurrent use.
type Observer interface {
	// Asked receives the kind of a request (ForRead, for example), the status code of its response, and the time until
	// the response began. The code is 0 if there was no response. A request that its caller cancelled is not reported.
	Asked(request string, code int, took time.Duration)
}

// NewClient returns a client of the upstream in config. Requests contain hop in their Via header. Responses are not
// compressed, because compression of a watch costs CPU for each event in the upstream and in the facade.
func NewClient(config *rest.Config, hop Hop, observers ...Observer) (*Client, error) {
	config = rest.CopyConfig(config)
	config.DisableCompression = true
	config.Timeout = 0 // each request has a context; a client-wide timeout would end every watch
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the upstream's address: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("prepare the upstream's transport: %w", err)
	}
	anonymousConfig := apart(rest.AnonymousClientConfig(config))
	anonymousConfig.WrapTransport = config.WrapTransport // WrapTransport selects the address and adds no credentials
	anonymous, err := rest.TransportFor(anonymousConfig)
	if err != nil {
		return nil, fmt.Errorf("prepare a transport without credentials: %w", err)
	}
	clock := &outage{}
	return &Client{
		base: base, outage: clock, hop: hop,
		anonymous: outageTransport{RoundTripper: anonymous, outage: clock, observers: observers},
		http: &http.Client{
			Transport: outageTransport{RoundTripper: transport, outage: clock, observers: observers},
			// A redirect would send the facade's credentials to another server.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// apart returns a copy of config whose clients use separate connections. client-go shares connections between
// configurations with the same dial function and TLS settings.
func apart(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext // client-go's values
	}
	config.Dial = dial
	return config
}

// Host returns the upstream's host and port, for messages.
func (c *Client) Host() string { return c.base.Host }

// Silent returns how long the upstream has answered none of this client's requests, or 0 while it answers. Only a
// request can notice an outage, so callers that rely on Silent must keep sending requests.
func (c *Client) Silent() time.Duration { return c.outage.lasted() }

// Trouble returns the error and the time of the last unanswered request, or nil if every request was answered.
func (c *Client) Trouble() *Trouble { return c.outage.trouble.Load() }

// CloseIdle closes idle connections.
func (c *Client) CloseIdle() {
	utilnet.CloseIdleConnectionsFor(c.http.Transport)
	utilnet.CloseIdleConnectionsFor(c.anonymous)
}

// Target is a path and query relative to the upstream's base address.
type Target struct {
	Path  string
	Query url.Values
}

func (c *Client) request(ctx context.Context, t Target, accept string) (*http.Request, error) {
	u := *c.base
	u.Path = strings.TrimSuffix(u.Path, "/") + t.Path
	u.RawQuery = t.Query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("build the request to the upstream: %w", err)
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("User-Agent", UserAgent)
	c.hop.Sign(request.Header, nil)
	return request, nil
}

// Open sends a GET and returns a 200 response, whose body the caller must close. Any other response is a *StatusError.
// Open fails if no headers arrive within answerWait.
func (c *Client) Open(ctx context.Context, t Target, accept string) (*http.Response, error) {
	request, err := c.request(ctx, t, accept)
	if err != nil {
		return nil, err
	}
	// The caller reads the body with this context. The timer must not cancel it after the headers have arrived.
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(answerWait, func() { cancel(errLate) })
	response, err := c.http.Do(request.WithContext(ctx))
	late.Stop()
	if err != nil {
		cancel(nil)
		return nil, fmt.Errorf("reach the upstream: %w", err)
	}
	response.Body = &ownedBody{ReadCloser: response.Body, release: func() { cancel(nil) }}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	if err != nil {
		return nil, fmt.Errorf("read the upstream's %d response: %w", response.StatusCode, err)
	}
	return nil, &StatusError{Code: response.StatusCode, Header: response.Header, Body: body}
}

var errLate = errors.New("no response before the timeout")

type ownedBody struct {
	io.ReadCloser
	release func()
}

func (b *ownedBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

// Get sends a GET and returns the complete body of a 200 response, within answerWait. Any other response is a
// *StatusError. A body of more than limit bytes is an *OversizeError.
func (c *Client) Get(ctx context.Context, t Target, accept string, limit int64) ([]byte, error) {
	body, _, err := c.getWithHeader(ctx, t, accept, limit)
	return body, err
}

// GetInto is like Get, but stores the body in a buffer, whose content it replaces.
func (c *Client) GetInto(ctx context.Context, t Target, accept string, limit int64, into *bytes.Buffer) error {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	response, err := c.Open(ctx, t, accept)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := readInto(into, response.Body, limit); err != nil {
		return fmt.Errorf("read %s from the upstream: %w", t.Path, err)
	}
	if int64(into.Len()) > limit {
		return &OversizeError{Path: t.Path, Limit: limit}
	}
	return nil
}

func (c *Client) getWithHeader(ctx context.Context, t Target, accept string, limit int64) ([]byte, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	response, err := c.Open(ctx, t, accept)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read %s from the upstream: %w", t.Path, err)
	}
	if int64(len(data)) > limit {
		return nil, nil, &OversizeError{Path: t.Path, Limit: limit}
	}
	return data, response.Header, nil
}

// Post sends a JSON body to a path whose POST changes nothing, such as an access review. It returns the response's code
// and at most 1 MiB of its body. Only the context bounds its duration.
func (c *Client) Post(ctx context.Context, path string, body []byte) (int, []byte, error) {
	request, err := c.request(ctx, Target{Path: path}, MediaJSON)
	if err != nil {
		return 0, nil, err
	}
	request.Method = http.MethodPost
	request.Header.Set("Content-Type", MediaJSON)
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	request.Body, _ = request.GetBody()
	request.ContentLength = int64(len(body))
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("reach the upstream: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxReview))
	if err != nil {
		return 0, nil, fmt.Errorf("read the upstream's response: %w", err)
	}
	return response.StatusCode, answer, nil
}
