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
	// fieldsFresh is how long the upstream is taken to be of the version that it said it was.
	fieldsFresh = 10 * time.Second
	// fieldsWait bounds each question; both are answered from memory.
	fieldsWait = 3 * time.Second
)

// Fields knows by which fields the upstream selects, where not every release of it does. It asks once for each field,
// however many want to know, and again when the upstream is of another version than before.
type Fields struct {
	client *Client
	flight singleflight.Group

	mu      sync.Mutex // guards all below
	version string     // of the upstream that gave the answers
	read    time.Time  // when it was last asked
	answers map[field]bool
}

type field struct {
	resource schema.GroupVersionResource
	label    string
}

// NewFields makes a Fields of the client's upstream, which knows nothing yet.
func NewFields(client *Client) *Fields {
	return &Fields{client: client, answers: map[field]bool{}}
}

// Selects tells whether the upstream lets a request select a resource's objects by a field. While it cannot be reached,
// it is taken for the one that it was; an error says that it was never asked.
func (f *Fields) Selects(ctx context.Context, r Resource, label string) (bool, error) {
	err := f.once(ctx, "", f.renew)
	if selects, known := f.known(r, label); known {
		return selects, nil
	}
	if err == nil {
		err = f.once(ctx, r.GVR.String()+" "+label, func(ctx context.Context) error { return f.ask(ctx, r, label) })
	}
	selects, known := f.known(r, label)
	if err == nil && !known {
		err = fmt.Errorf("ask whether %s are selected by %s: the upstream was replaced meanwhile", r.GVR.Resource, label)
	}
	return selects, err
}

func (f *Fields) known(r Resource, label string) (selects, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	selects, known = f.answers[field{r.GVR, label}]
	return selects, known
}

// once asks a question for all who have it, which no single one's context ends.
func (f *Fields) once(ctx context.Context, question string, ask func(context.Context) error) error {
	done := f.flight.DoChan(question, func() (any, error) {
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

// renew asks which version the upstream is of, unless it said so a moment ago, and forgets the answers of another.
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

// gitVersion is the release that the upstream says it is.
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
		return "", fmt.Errorf("read the upstream's version: %q names none", text)
	}
	return version.GitVersion, nil
}

// ask lists nothing by the field, in the upstream's cache: it refuses a field before it looks for objects.
func (f *Fields) ask(ctx context.Context, r Resource, label string) error {
	if _, known := f.known(r, label); known {
		return nil // the question before this one has just been answered
	}
	f.mu.Lock()
	version := f.version
	f.mu.Unlock()
	namespace := ""
	if r.Namespaced {
		namespace = "default"
	}
	query := url.Values{"fieldSelector": {"metadata.name=" + nowhere + "," + label + "=x"}, "resourceVersion": {"0"}, "limit": {"1"}}
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
