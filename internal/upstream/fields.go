package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// fieldsFresh is the minimum time between two reads of the upstream's version.
	fieldsFresh = 10 * time.Second
	// fieldsWait bounds each request. kube-apiserver answers from memory.
	fieldsWait = 3 * time.Second
)

// Fields finds out whether the upstream supports a field selector that only some releases support. It sends one request
// for each field and version of the upstream. Safe for concurrent use.
type Fields struct {
	client *Client
	flight singleflight.Group

	mu      sync.Mutex // guards the fields below
	version string     // version of the upstream that gave the answers
	read    time.Time  // when version was last requested
	answers map[field]bool
}

type field struct {
	resource schema.GroupVersionResource
	label    string
}

// NewFields returns an empty Fields for the client's upstream.
func NewFields(client *Client) *Fields {
	return &Fields{client: client, answers: map[field]bool{}}
}

// Selects reports whether the upstream supports a field selector for a resource. While the upstream cannot be reached,
// Selects returns the last answer, or an error if there is none.
func (f *Fields) Selects(ctx context.Context, r Resource, label string) (bool, error) {
	err := askOnce(ctx, &f.flight, "", f.renew)
	if selects, known := f.known(r, label); known {
		return selects, nil
	}
	if err == nil {
		err = askOnce(ctx, &f.flight, r.GVR.String()+" "+label,
			func(ctx context.Context) error { return f.ask(ctx, r, label) })
	}
	selects, known := f.known(r, label)
	if err == nil && !known {
		err = fmt.Errorf("check field selector %s of %s: the upstream's version changed meanwhile", label, r.GVR.Resource)
	}
	return selects, err
}

func (f *Fields) known(r Resource, label string) (selects, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	selects, known = f.answers[field{r.GVR, label}]
	return selects, known
}

// askOnce shares one request among all callers with the same question. The request continues when the context of one
// caller ends.
func askOnce(ctx context.Context, flight *singleflight.Group, question string, ask func(context.Context) error) error {
	done := flight.DoChan(question, func() (any, error) {
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), fieldsWait)
		defer cancel()
		return nil, ask(detached)
	})
	select {
	case result := <-done:
		return result.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// renew reads the upstream's version, unless it was read less than fieldsFresh ago. If the version has changed, renew
// drops all answers.
func (f *Fields) renew(ctx context.Context) error {
	f.mu.Lock()
	fresh := f.version != "" && time.Since(f.read) < fieldsFresh
	f.mu.Unlock()
	if fresh {
		return nil
	}
	version, err := f.client.gitVersion(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read = time.Now()
	if err != nil {
		return err
	}
	if f.version != version {
		clear(f.answers)
	}
	f.version = version
	return nil
}

func (c *Client) gitVersion(ctx context.Context) (string, error) {
	text, err := c.ServerVersion(ctx)
	if err != nil {
		return "", fmt.Errorf("read the upstream's version: %w", err)
	}
	var version struct{ GitVersion string }
	if err := json.Unmarshal(text, &version); err != nil {
		return "", fmt.Errorf("read the upstream's version: %w", err)
	}
	if version.GitVersion == "" {
		return "", fmt.Errorf("read the upstream's version: no gitVersion in %q", text)
	}
	return version.GitVersion, nil
}

// ask requests an empty list with the field selector. kube-apiserver refuses an unsupported field before it reads
// objects.
func (f *Fields) ask(ctx context.Context, r Resource, label string) error {
	if _, known := f.known(r, label); known {
		return nil // the preceding shared request has already stored the answer
	}
	f.mu.Lock()
	version := f.version
	f.mu.Unlock()
	namespace := ""
	if r.Namespaced {
		namespace = "default"
	}
	query := url.Values{"fieldSelector": {"metadata.name=" + nowhere + "," + label + "=x"}, "resourceVersion": {"0"},
		"limit": {"1"}}
	_, err := f.client.Get(ctx, Target{Path: r.Path(namespace), Query: query}, MediaJSON, maxErrorBody)
	if err != nil && !HasCode(err, http.StatusBadRequest) {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.version == version {
		f.answers[field{r.GVR, label}] = err == nil
	}
	return nil
}
