package questions

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// Twenty concurrent forwarded lists are all answered as by kube-apiserver, although their clients start to read only
// when all have received headers.
func TestConcurrentForwardedListsAreAnswered(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	text := strings.Repeat("eHh4", 900<<8)
	version := ""
	for i := range settings.Amount(3, 9) {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": fmt.Sprint("large", i)}, "data": map[string]any{"text": text},
		}}
		created, err := s.In(secrets).Create(t.Context(), object, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		version = created.GetResourceVersion()
	}
	path := suite.Collection(secrets, s.Namespace) + "?resourceVersionMatch=Exact&resourceVersion=" + version
	want, err := io.ReadAll(asProtobuf(t, s.Config, path).Body)
	if err != nil {
		t.Fatal(err)
	}
	facade := suite.StartFacade(t, suite.Cluster(t))
	answers := make([]*http.Response, 20)
	var wait sync.WaitGroup
	for i := range answers {
		wait.Go(func() { answers[i] = asProtobuf(t, facade.Config, path) })
	}
	wait.Wait()
	for _, answer := range answers {
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK || !bytes.Equal(body, want) {
			t.Errorf("got %d with %d bytes, want %d bytes: %v", answer.StatusCode, len(body), len(want), err)
		}
	}
}

// asProtobuf sends a GET for protobuf and leaves the answer unread.
func asProtobuf(t *testing.T, config *rest.Config, path string) *http.Response {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Error(err)
		return nil
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, nil)
	if err != nil {
		t.Error(err)
		return nil
	}
	request.Header.Set("Accept", "application/vnd.kubernetes.protobuf")
	request.Header.Set("Accept-Encoding", "identity")
	answer, err := client.Do(request)
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}
