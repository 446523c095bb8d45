package facade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/upstream"
)

// authorityWait bounds one request for the authority. authorityTries are the pauses between failed tries. Tries can
// fail at a first installation, which may start pods before their permissions exist.
const authorityWait = 10 * time.Second

var authorityTries = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 6, Cap: 30 * time.Second}

var errAuthorityTaken = errors.New("the object has changed since it was read")

// authorityStore is the Secret with the authority, and the ConfigMap of the same name with the certificate for clients.
// Both exist before the process starts, so the process needs no permission to create objects. The process changes only
// their data, which is not in the manifests, so an update of the manifests does not remove the authority.
type authorityStore struct {
	namespace, name string
	host            string
	http            *http.Client
}

// storedValue is a value of a ConfigMap (string) or a Secret ([]byte, which is base64 in JSON).
type storedValue interface{ string | []byte }

type storedObject[T storedValue] struct {
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]T `json:"data,omitempty"`
}

func (c Config) authorityName() (namespace, name string, err error) {
	namespace, name, ok := strings.Cut(c.SharedAuthority, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		err = fmt.Errorf("--shared-authority %q: must be NAMESPACE/NAME of a Secret and a ConfigMap", c.SharedAuthority)
	}
	return namespace, name, err
}

func newAuthorityStore(c Config, config *rest.Config) (*authorityStore, error) {
	namespace, name, err := c.authorityName()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.Timeout = authorityWait
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the upstream's address: %w", err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for --shared-authority: %w", err)
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &authorityStore{namespace, name, strings.TrimSuffix(base.String(), "/"), client}, nil
}

// loadAuthority returns the authority of --shared-authority, which the first replica creates. It tries until it
// succeeds or the context ends, because each failure can be temporary during an installation.
func loadAuthority(ctx context.Context, c Config, config *rest.Config, log *zap.Logger) (*Authority, error) {
	store, err := newAuthorityStore(c, config)
	if err != nil {
		return nil, err
	}
	defer store.http.CloseIdleConnections()
	authority, err := retryAuthority(ctx, log, store.load)
	if err != nil {
		err = fmt.Errorf("load --shared-authority %s: %w", c.SharedAuthority, err)
	}
	return authority, err
}

// ReadAuthority returns the authority for the certificates of the splitting proxy. It reads a directory, in which the
// Secret of --shared-authority is mounted. During an installation, the Secret is empty until the first replica of the
// facade starts. ReadAuthority therefore tries until it succeeds or the context ends.
func ReadAuthority(ctx context.Context, dir string, log *zap.Logger) (*Authority, error) {
	return retryAuthority(ctx, log, func(context.Context) (*Authority, error) {
		cert, err := os.ReadFile(filepath.Join(dir, tlsCert))
		if err != nil {
			return nil, err
		}
		key, err := os.ReadFile(filepath.Join(dir, tlsKey))
		if err != nil {
			return nil, err
		}
		return readAuthority(splitService, cert, key)
	})
}

func retryAuthority(ctx context.Context, log *zap.Logger,
	load func(context.Context) (*Authority, error)) (*Authority, error) {
	pauses := authorityTries
	for {
		authority, err := load(ctx)
		if err == nil {
			return authority, nil
		}
		pause := pauses.Step()
		log.Warn("Cannot load the authority of serving certificates; trying again", zap.Duration("pause", pause),
			zap.Error(err))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

func (s *authorityStore) load(ctx context.Context) (*Authority, error) {
	secret, err := readStored[[]byte](ctx, s, "secrets")
	if err != nil {
		return nil, err
	}
	if len(secret.Data) == 0 {
		cert, key, err := NewAuthority(s.namespace)
		if err != nil {
			return nil, fmt.Errorf("create an authority: %w", err)
		}
		secret.Data = map[string][]byte{tlsCert: cert, tlsKey: key}
		if err := writeStored(ctx, s, "secrets", secret); err != nil {
			return nil, err
		}
	}
	authority, err := readAuthority(facadeService, secret.Data[tlsCert], secret.Data[tlsKey])
	if err != nil {
		return nil, fmt.Errorf("read Secret %s/%s: %w; remove its data to create another authority", s.namespace, s.name, err)
	}
	return authority, s.publish(ctx, string(secret.Data[tlsCert]))
}

const (
	tlsCert     = "tls.crt"
	tlsKey      = "tls.key"
	publishedCA = "ca.crt"
)

func (s *authorityStore) publish(ctx context.Context, cert string) error {
	published, err := readStored[string](ctx, s, "configmaps")
	if err != nil || published.Data[publishedCA] == cert {
		return err
	}
	published.Data = map[string]string{publishedCA: cert}
	if err := writeStored(ctx, s, "configmaps", published); !errors.Is(err, errAuthorityTaken) {
		return err
	}
	return nil // another replica has published the same authority
}

func readStored[T storedValue](ctx context.Context, s *authorityStore, resource string) (storedObject[T], error) {
	var stored storedObject[T]
	body, err := s.send(ctx, http.MethodGet, resource, nil)
	if err == nil {
		err = json.Unmarshal(body, &stored)
	}
	if err != nil {
		err = fmt.Errorf("read %s %s/%s: %w", resource, s.namespace, s.name, err)
	}
	return stored, err
}

// writeStored writes the data of an object, unless the object has changed since it was read.
func writeStored[T storedValue](ctx context.Context, s *authorityStore, resource string, stored storedObject[T]) error {
	patch := storedObject[T]{Data: stored.Data, ObjectMeta: metav1.ObjectMeta{ResourceVersion: stored.ResourceVersion}}
	body, err := json.Marshal(patch)
	if err == nil {
		_, err = s.send(ctx, http.MethodPatch, resource, body)
	}
	if err != nil {
		err = fmt.Errorf("write %s %s/%s: %w", resource, s.namespace, s.name, err)
	}
	return err
}

func (s *authorityStore) send(ctx context.Context, method, resource string, body []byte) ([]byte, error) {
	url := s.host + "/api/v1/namespaces/" + s.namespace + "/" + resource + "/" + s.name
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", upstream.MediaJSON)
	request.Header.Set("Content-Type", string(types.MergePatchType))
	request.Header.Set("User-Agent", upstream.UserAgent)
	response, err := s.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode == http.StatusConflict:
		return nil, errAuthorityTaken
	case response.StatusCode != http.StatusOK:
		return nil, &upstream.StatusError{Code: response.StatusCode, Body: answer}
	}
	return answer, nil
}
