package client_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/client"
)

// A wrong authority is an error also where kube-apiserver could answer: otherwise the mistake would cost only load.
func TestFacadeIsVerifiedAgainstItsOwnAuthority(t *testing.T) {
	s := newServers(t)
	split, err := client.WrapConfig(s.config, s.facade.URL, s.kubeAPIServer.ca)
	if err != nil {
		t.Fatal(err)
	}
	for _, insecure := range []bool{false, true} {
		if split.Insecure = insecure; insecure { // for kube-apiserver
			split.CAData = nil
		}
		for _, target := range []string{"/api/v1/pods", "/api/v1/namespaces/a/pods/b"} {
			_, err := send(t, split, http.MethodGet, target)
			for _, want := range []string{"facade " + s.facade.Listener.Addr().String(), "CA certificates in WrapConfig"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("insecure %t, %s: got %v, want an error with %q", insecure, target, err, want)
				}
			}
		}
	}
	if got := len(s.kubeAPIServer.take()) + len(s.facade.take()); got != 0 {
		t.Errorf("got %d requests, want none", got)
	}
}

// A 401 of the facade is returned, with a warning that names the facade. One of kube-apiserver has no warning.
func TestRefusedCredentialsAreExplained(t *testing.T) {
	s := newServers(t)
	s.facade.status, s.kubeAPIServer.status = http.StatusUnauthorized, http.StatusUnauthorized
	warnings := &warnings{}
	s.config.WarningHandler = warnings
	for _, target := range []string{"/api/v1/pods", "/api/v1/secrets"} {
		restClient, err := rest.UnversionedRESTClientFor(withCodec(s.wrap(t)))
		if err != nil {
			t.Fatal(err)
		}
		if err := restClient.Get().AbsPath(target).Do(context.Background()).Error(); !apierrors.IsUnauthorized(err) {
			t.Errorf("%s: got %v, want 401", target, err)
		}
	}
	want := "the facade " + s.facade.Listener.Addr().String() + " refused the credentials"
	if len(*warnings) != 1 || !strings.HasPrefix((*warnings)[0], want) {
		t.Errorf("got warnings %q, want one that begins with %q", *warnings, want)
	}
}

// warnings collects the warnings that client-go would print.
type warnings []string

func (w *warnings) HandleWarningHeader(_ int, _, text string) { *w = append(*w, text) }

// withCodec adds what a REST client needs to read a Status.
func withCodec(config *rest.Config) *rest.Config {
	config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	return config
}
