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

// MediaJSON is the encoding of the facade's own questions, whatever that of a lane.
const MediaJSON = "application/json"

// MediaMetadata and MediaMetadataList are the metadata alone of an object, and of a list, as JSON.
const (
	MediaMetadata     = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	MediaMetadataList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
)

// maxErrorBody bounds, in bytes, what is read of an answer that is not a 200: a Status is a few hundred bytes.
const maxErrorBody = 64 << 10

// maxReview bounds, in bytes, what is read of the answer to a review: it repeats the question, and names groups.
const maxReview = 1 << 20

// answerWait is how long the headers of a watch and the whole of any other answer may take. kube-apiserver itself gives
// up after a minute; what takes longer hangs.
const answerWait = 90 * time.Second

// Client sends GET requests to the one upstream with the credentials of the facade's own kubeconfig.
type Client struct {
	base      *url.URL
	http      *http.Client
	anonymous http.RoundTripper // for the credentials of others: it has none, and connections of its own
	outage    *outage
	hop       Hop
}

// Observer is told of what is asked of the upstream; implementations must be safe for concurrent use.
type Observer interface {
	// Asked tells what was asked for, of a few words; the answer's code, 0 where there was none; and how long the upstream
	// took to begin with it. Of who left before there was one nothing is told.
	Asked(request string, code int, took time.Duration)
}

// NewClient makes a client of the upstream that config names, for the facade that hop names. The transport asks for
// identity encoding: a compressed watch would cost the upstream CPU for each event and the facade the same again.
// observers are told of each request.
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
	nameless := apart(rest.AnonymousClientConfig(config))
	nameless.WrapTransport = config.WrapTransport // what is around a transport says where to ask, and not as whom
	anonymous, err := rest.TransportFor(nameless)
	if err != nil {
		return nil, fmt.Errorf("prepare a transport without credentials: %w", err)
	}
	clock := &outage{}
	return &Client{
		base: base, outage: clock, hop: hop, anonymous: listeningTransport{RoundTripper: anonymous, outage: clock, observers: observers},
		http: &http.Client{
			Transport: listeningTransport{RoundTripper: transport, outage: clock, observers: observers},
			// A redirect would carry the facade's credentials to wherever the answer points.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// apart gives a configuration connections of its own: client-go shares those of all configurations that dial alike.
func apart(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext // as client-go has it
	}
	config.Dial = dial
	return config
}

// Host is the upstream's address, for messages.
func (c *Client) Host() string { return c.base.Host }

// Silent is how long the upstream has answered nothing that it was asked, by anybody who asks through this client; 0
// while it answers. It says nothing of a time in which nobody asks, so whoever relies on it goes on asking.
func (c *Client) Silent() time.Duration { return c.outage.lasted() }

// Trouble is why the last question that had no answer had none; nil when all had one.
func (c *Client) Trouble() *Trouble { return c.outage.trouble.Load() }

// CloseIdle closes the connections that no request uses.
func (c *Client) CloseIdle() {
	utilnet.CloseIdleConnectionsFor(c.http.Transport)
	utilnet.CloseIdleConnectionsFor(c.anonymous)
}

// Target is a path with its query below the upstream's base address.
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
		return nil, fmt.Errorf("address the upstream: %w", err)
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("User-Agent", UserAgent)
	c.hop.sign(request.Header, nil)
	return request, nil
}

// Open sends a GET and returns the answer, with an open body that the caller closes, when it is a 200; any other answer
// is a *StatusError. Headers that take longer than 90 s are an error.
func (c *Client) Open(ctx context.Context, t Target, accept string) (*http.Response, error) {
	request, err := c.request(ctx, t, accept)
	if err != nil {
		return nil, err
	}
	// The response's body lives as long as the context that it was asked for with: only until the headers are there may
	// the wait end it.
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
		return nil, fmt.Errorf("read the upstream's %d: %w", response.StatusCode, err)
	}
	return nil, &StatusError{Code: response.StatusCode, Header: response.Header, Body: body}
}

var errLate = errors.New("no answer in time")

// ownedBody ends a request's context with its body.
type ownedBody struct {
	io.ReadCloser
	release func()
}

// Close implements io.Closer.
func (b *ownedBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

// Get sends a GET and returns the whole body of a 200, within 90 s. Any other answer is a *StatusError, a body of more
// than limit bytes an *OversizeError.
func (c *Client) Get(ctx context.Context, t Target, accept string, limit int64) ([]byte, error) {
	body, _, err := c.getWithHeader(ctx, t, accept, limit)
	return body, err
}

// GetInto is Get into a buffer, whose content it replaces.
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

// Post sends a JSON body to a path of the upstream that answers a question without changing anything: an access review.
// It returns the answer's code and at most 1 MiB of its body.
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
		return 0, nil, fmt.Errorf("read the upstream's answer: %w", err)
	}
	return response.StatusCode, answer, nil
}
