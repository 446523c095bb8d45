package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// answerWait is the maximum duration of a request.
	answerWait  = 2 * time.Minute
	answerLimit = 1 << 30 // maximum size of a response, in bytes
	// patience is how long a server may respond to one request with 429. After that time, the command sends this server
	// no more requests. longestPause is the maximum time between attempts. shortPause is the time if a response has no
	// Retry-After header.
	patience     = 2 * time.Minute
	longestPause = 30 * time.Second
	shortPause   = time.Second
)

// flowHeader is the header in which kube-apiserver reports the flow schema of a request. The facade forwards this
// header, and sends none with its own responses. A page with this header was therefore forwarded.
const flowHeader = "X-Kubernetes-Pf-Flowschema-Uid"

// accepts contains the Accept header for each encoding. The header for protobuf does not accept JSON.
var accepts = map[string]string{"json": "application/json", "protobuf": "application/vnd.kubernetes.protobuf"}

type server struct {
	name   string
	client *http.Client
	base   *url.URL
	limit  int64 // maximum bytes of a response
	now    func() time.Time
	sleep  func(context.Context, time.Duration) error
	waits  func(path string, why error) // called once for each request that is repeated later

	busy        error      // error after which the server receives no more requests; nil before
	discovering sync.Mutex // serializes discovery requests, which package discovery sends concurrently
}

type answer struct {
	body  []byte
	flows bool // whether the response has flowHeader
}

func newServer(name string, config *rest.Config) (*server, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("parse address of %s: %w", name, err)
	}
	config = rest.CopyConfig(config)
	config.DisableCompression, config.Timeout = true, 0
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("create client for %s: %w", name, err)
	}
	return &server{
		name: name, client: client, base: base, limit: answerLimit, now: time.Now, sleep: sleep,
		waits: func(string, error) {},
	}, nil
}

// sleep waits for d. It fails if the context ends earlier.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// get sends a GET request. After a 429 it repeats the request as Retry-After demands, for at most patience. If all
// responses are 429, this call and all later calls fail. Any other status than 200 is returned as a *refusal.
func (s *server) get(ctx context.Context, path string, query url.Values, accept string) (answer, error) {
	if s.busy != nil {
		return answer{}, s.busy
	}
	first := true
	for until := s.now().Add(patience); ; first = false {
		a, err := s.ask(ctx, path, query, accept)
		var busy *refusal
		if !errors.As(err, &busy) || busy.code != http.StatusTooManyRequests {
			return a, err
		}
		wait := busy.pause(shortPause)
		if s.now().Add(wait).After(until) {
			s.busy = fmt.Errorf("%s returned 429 for %s, sending no more requests: %w", s.name, patience, err)
			return a, s.busy
		}
		if first {
			s.waits(path, err)
		}
		if stopped := s.sleep(ctx, wait); stopped != nil {
			return a, stopped
		}
	}
}

func (s *server) ask(ctx context.Context, path string, query url.Values, accept string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	target := s.base.JoinPath(path)
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return answer{}, fmt.Errorf("create request to %s: %w", s.name, err)
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("User-Agent", "listfacade-verify")
	response, err := s.client.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("request to %s: %w", s.name, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, s.limit+1))
	if err != nil {
		return answer{}, fmt.Errorf("read response of %s: %w", s.name, err)
	}
	if response.StatusCode != http.StatusOK {
		return answer{}, &refusal{server: s.name, code: response.StatusCode, retryAfter: response.Header.Get("Retry-After"),
			body: body}
	}
	if int64(len(body)) > s.limit {
		return answer{}, fmt.Errorf("response of %s to %s exceeds %d bytes", s.name, path, s.limit)
	}
	return answer{body: body, flows: response.Header.Get(flowHeader) != ""}, nil
}

// pause returns the time until the next attempt according to Retry-After, within bounds.
func (e *refusal) pause(atLeast time.Duration) time.Duration {
	seconds, err := strconv.Atoi(e.retryAfter)
	if err != nil {
		return atLeast
	}
	return min(max(time.Duration(seconds)*time.Second, atLeast), longestPause)
}
