package facade

import (
	"errors"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/upstream"
)

const kubeSystem = "/api/v1/namespaces/kube-system"

// A peer that does not answer in time is a note. A kube-apiserver that does not answer is not the peer's fault, and is
// a failure.
func TestPeerThatIsAway(t *testing.T) {
	tells := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"metadata":{"uid":"1"}}`)) }
	hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	refuses := testkit.Refuse(http.StatusServiceUnavailable, "ServiceUnavailable")
	for name, c := range map[string]struct {
		here, there http.HandlerFunc
		fails, away bool
	}{
		"well":                         {here: tells, there: tells},
		"hangs":                        {here: tells, there: hangs, fails: true, away: true},
		"is not ready":                 {here: tells, there: refuses, fails: true, away: true},
		"kube-apiserver has no answer": {here: refuses, there: tells, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				clientOf := func(cluster http.HandlerFunc) *upstream.Client {
					f := testkit.NewFakeUpstream(t, testkit.FakeKind{GVR: corev1.SchemeGroupVersion.WithResource("configmaps"), Kind: "ConfigMap"})
					f.Script(kubeSystem, cluster)
					f.Script("/version", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"gitVersion":"v1.37.1"}`)) })
					client, err := upstream.NewClient(f.Config(), upstream.Hop{})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(client.CloseIdle)
					return client
				}
				i := &inspection{client: clientOf(c.here)}
				began := time.Now()
				err := i.peer(t.Context(), clientOf(c.there))
				var away *awayError
				if took := time.Since(began); (err != nil) != c.fails || errors.As(err, &away) != c.away || took > peerWait {
					t.Errorf("got %v, after %v", err, took)
				}
			})
		})
	}
}
