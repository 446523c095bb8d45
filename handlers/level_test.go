package handlers

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/oplog"
)

// askedAuthorizer allows everything or nothing, and records the attributes.
type askedAuthorizer struct {
	authenticated
	allows bool
	asked  []string
}

// Authorize implements Authorizer.
func (a *askedAuthorizer) Authorize(ctx context.Context, of auth.Attributes) (auth.Decision, error) {
	a.asked = append(a.asked, of.Verb+" "+of.Path)
	if !a.allows {
		return auth.Decision{}, &auth.DeniedError{}
	}
	return auth.NewSelf(reviewer(func() (int, []byte, error) { return 0, nil, io.ErrUnexpectedEOF }), 0).Authorize(ctx, of)
}

// The log level is neither shown nor changed before the authorizer has allowed that verb on that path.
func TestLevelIsAuthorized(t *testing.T) {
	atomic := zap.NewAtomicLevelAt(zap.InfoLevel)
	level := oplog.NewLevel(atomic, zap.NewNop(), func(uint32) {})
	inBubble(t, func(t *testing.T, f *facade) {
		put := func(target, body string) *http.Response {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://facade.test"+target, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			response, err := f.client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			return response
		}
		for _, allowed := range []bool{false, true} {
			asker := &askedAuthorizer{allows: allowed}
			f.deny = asker
			code, wanted := http.StatusForbidden, zap.InfoLevel
			if allowed {
				code, wanted = http.StatusOK, zap.DebugLevel
			}
			for path, body := range map[string]string{oplog.VerbosityPath: "4", oplog.LevelPath: `{"level":"debug"}`} {
				level.SetLevel("the test", zap.InfoLevel, 0)
				asker.asked = nil
				if got := put(path, body).StatusCode; got != code || atomic.Level() != wanted || !slices.Equal(asker.asked, []string{"put " + path}) {
					t.Errorf("allowed %t: %s: got %d, level %s, authorized %q", allowed, path, got, atomic.Level(), asker.asked)
				}
			}
			asker.asked = nil
			if response, _ := f.get(t, oplog.LevelPath); response.StatusCode != code || !slices.Equal(asker.asked, []string{"get " + oplog.LevelPath}) {
				t.Errorf("allowed %t: got %d for reading the level, authorized %q", allowed, response.StatusCode, asker.asked)
			}
		}
		for _, path := range []string{"/metrics", "/debug/flags", "/readyz/ping/x", "/api/v1/namespaces/ns/configmaps/a"} {
			if got := put(path, "4").StatusCode; got != http.StatusMethodNotAllowed && got != http.StatusNotFound {
				t.Errorf("PUT %s: got %d", path, got)
			}
		}
	}, func(c *Config) { c.Level = level })
}
