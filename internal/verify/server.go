package verify

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// answerWait bounds an answer in time, and answerLimit in bytes.
	answerWait  = 2 * time.Minute
	answerLimit = 1 << 30
)

// accepts are the encodings, by what they are asked for with. JSON is not taken for protobuf.
var accepts = map[string]string{"json": "application/json", "protobuf": "application/vnd.kubernetes.protobuf"}

// server is one of the two.
type server struct {
	name   string // as it is called in messages
	client *http.Client
	base   *url.URL
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
	return &server{name: name, client: client, base: base}, nil
}

// get asks for a path; another answer than 200 is a *refusal.
func (s *server) get(ctx context.Context, path string, query url.Values, accept string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	asked := s.base.JoinPath(path)
	asked.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, asked.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", s.name, err)
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("User-Agent", "listfacade-verify")
	response, err := s.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", s.name, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if err != nil {
		return nil, fmt.Errorf("read what %s says: %w", s.name, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, &refusal{who: s.name, code: response.StatusCode, body: body}
	}
	return body, nil
}
