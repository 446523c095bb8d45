package testkit

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

func TestSameButAges(t *testing.T) {
	for name, c := range map[string]struct {
		before, got, after string
		same               bool
	}{
		"between":           {"a  9s\n", "a  11s\n", "a  13s\n", true},
		"one of two moves":  {"a  59s   5m\n", "a  61s   5m\n", "a  63s   5m\n", true},
		"minutes":           {"a   119s\n", "a   2m\n", "a   2m1s\n", true},
		"other width":       {"NAME   AGE\na      9s\n", "NAME   AGE\na      10s\n", "NAME   AGE\na      11s\n", true},
		"too young":         {"a  9s\n", "a  8s\n", "a  13s\n", false},
		"too old":           {"a  9s\n", "a  14s\n", "a  13s\n", false},
		"more":              {"a  9s\n", "a  11s\nb  11s\n", "a  13s\n", false},
		"another name":      {"a  9s\n", "b  11s\n", "a  13s\n", false},
		"another line":      {"a  9s\n", "a\n11s\n", "a  13s\n", false},
		"no age of objects": {"a  100m  9s\n", "a  200m  10s\n", "a  100m  11s\n", false},
	} {
		if got := sameButAges(c.before, c.got, c.after); got != c.same {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// saying returns a server that answers with one text after the other, and then repeats the last.
func saying(t *testing.T, texts ...string) *Asker {
	t.Helper()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, texts[min(int(asked.Add(1)), len(texts))-1])
	}))
	t.Cleanup(server.Close)
	asker, err := NewAsker(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return asker
}

// Slow answers of both servers cause no difference for a correct facade, and do not hide a wrong answer.
func TestDifferenceWhileTheClusterChanges(t *testing.T) {
	aged := func(rv int, name, age string) string {
		return fmt.Sprintf(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"%d"},"rows":[{"cells":[%q,%q]}]}`, rv, name, age)
	}
	const list = `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[%s]}`
	empty := func(rv int) string { return fmt.Sprintf(list, rv, "") }
	passing := fmt.Sprintf(list, 5, `{"metadata":{"name":"passing"}}`)
	for name, c := range map[string]struct {
		upstream, facade []string
		same             bool
	}{
		"an age between":            {[]string{aged(4, "a", "3s"), aged(6, "a", "5s")}, []string{aged(5, "a", "4s")}, true},
		"an age below":              {[]string{aged(4, "a", "3s"), aged(4, "a", "3s")}, []string{aged(4, "a", "2s")}, false},
		"a short-lived object":      {[]string{empty(4), empty(6)}, []string{passing, empty(6)}, true},
		"an unknown object":         {[]string{empty(4), empty(6)}, []string{fmt.Sprintf(list, 6, `{"metadata":{"name":"never"}}`)}, false},
		"an older list of that all": {[]string{empty(4), empty(4)}, []string{empty(3)}, false},
	} {
		o := &Oracle{Upstream: saying(t, c.upstream...), Facade: saying(t, c.facade...)}
		if _, diff := o.Difference(t, Question{Path: "/api/v1/configmaps"}); (diff == "") != c.same {
			t.Errorf("%s: %q", name, diff)
		}
	}
}
