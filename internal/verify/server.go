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
	// answerWait bounds an answer in time, and answerLimit in bytes.
	answerWait  = 2 * time.Minute
	answerLimit = 1 << 30
	// patience is how long a server may answer one question with 429 before it is not asked any more, and longestPause
	// how long it is left alone at a time, whatever it asks for; without a word from it a second.
	patience     = 2 * time.Minute
	longestPause = 30 * time.Second
	shortPause   = time.Second
)

// flowHeader is what kube-apiserver says of the flow that a request was counted to, on every answer. The facade passes
// it on with an answer that is kube-apiserver's, and has none on its own.
const flowHeader = "X-Kubernetes-Pf-Flowschema-Uid"

// accepts are the encodings, by what they are asked for with. JSON is not taken for protobuf.
var accepts = map[string]string{"json": "application/json", "protobuf": "application/vnd.kubernetes.protobuf"}

// server is one of the two.
type server struct {
	name   string // as it is called in messages
	client *http.Client
	base   *url.URL
	now    func() time.Time
	sleep  func(context.Context, time.Duration) error
	waits  func(path string, why error) // is told once of each question that is asked again later

	busy        error      // why it is not asked any more; nil: it is
	discovering sync.Mutex // held for each of the questions of discovery, which come at once
}

// answer is what a server says with 200.
type answer struct {
	body  []byte
	flows bool // it has a flowHeader
}

func newServer(name string, config *rest.Config) (*server, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the address of %s: %w", name, err)
	}
	config = rest.CopyConfig(config)
	config.DisableCompression, config.Timeout = true, 0
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("prepare to ask %s: %w", name, err)
	}
	return &server{name: name, client: client, base: base, now: time.Now, sleep: sleep, waits: func(string, error) {}}, nil
}

// sleep waits, and fails when the context ends before.
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

// get asks for a path. A server that answers 429 is asked again when it says that it has time, for two minutes, and
// never again after that; another answer than 200 is a *refusal.
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
			s.busy = fmt.Errorf("%s had no time for %s, and is not asked any more: %w", s.name, patience, err)
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

// ask asks for a path once.
func (s *server) ask(ctx context.Context, path string, query url.Values, accept string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	asked := s.base.JoinPath(path)
	asked.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, asked.String(), nil)
	if err != nil {
		return answer{}, fmt.Errorf("ask %s: %w", s.name, err)
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("User-Agent", "listfacade-verify")
	response, err := s.client.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("ask %s: %w", s.name, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if err != nil {
		return answer{}, fmt.Errorf("read what %s says: %w", s.name, err)
	}
	if response.StatusCode != http.StatusOK {
		return answer{}, &refusal{who: s.name, code: response.StatusCode, retryAfter: response.Header.Get("Retry-After"), body: body}
	}
	return answer{body: body, flows: response.Header.Get(flowHeader) != ""}, nil
}

// pause is how long the server asks to be left alone, within bounds.
func (e *refusal) pause(atLeast time.Duration) time.Duration {
	seconds, err := strconv.Atoi(e.retryAfter)
	if err != nil {
		return atLeast
	}
	return min(max(time.Duration(seconds)*time.Second, atLeast), longestPause)
}
