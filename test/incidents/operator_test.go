package incidents

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/zap/zaptest/observer"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/accounting"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
	"github.com/listfacade/listfacade/internal/top"
)

// operator is a client of a facade's debug endpoints.
type operator struct {
	facade *suite.Facade
	url    string
	config *rest.Config // by which he asks it
}

// operatorOf returns an operator with credentials of the cluster, or without any.
func operatorOf(facade *suite.Facade, who *rest.Config) *operator {
	if who == nil {
		return &operator{facade: facade, url: facade.URL, config: facade.Config}
	}
	return &operator{facade: facade, url: facade.URL, config: facade.ConfigOf(who)}
}

// operatorAt returns an operator that uses the facade's debug socket.
func operatorAt(facade *suite.Facade, socket string) *operator {
	const anywhere = "http://debug"
	return &operator{facade: facade, url: anywhere, config: &rest.Config{Host: anywhere, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
}

// ask requests a report of the facade in JSON.
func (o *operator) ask(t *testing.T, path string, into any) {
	t.Helper()
	client, err := rest.HTTPClientFor(o.config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, o.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v, %s: %s", path, err, response.Status, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("%s: %v: %s", path, err, body)
	}
}

// clients returns the clients with the highest cost of a kind.
func (o *operator) clients(t *testing.T, by string) accounting.Ranking {
	t.Helper()
	var ranking accounting.Ranking
	o.ask(t, "/debug/clients?output=json&by="+by, &ranking)
	return ranking
}

// watches returns the open watches, sorted.
func (o *operator) watches(t *testing.T, by string) observe.OpenList {
	t.Helper()
	var list observe.OpenList
	o.ask(t, "/debug/watches?output=json&by="+by, &list)
	return list
}

// requests returns the requests in flight that are not watches, sorted.
func (o *operator) requests(t *testing.T, by string) observe.OpenList {
	t.Helper()
	var list observe.OpenList
	o.ask(t, "/debug/requests?output=json&by="+by, &list)
	return list
}

// top returns the output of "listfacade top --once".
func (o *operator) top(t *testing.T, by string) string {
	t.Helper()
	command := top.Command()
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetArgs([]string{"--kubeconfig", testkit.WriteKubeconfig(t, o.config), "--by", by, "--once"})
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// topLine returns the first client in top's output.
func (o *operator) topLine(t *testing.T, by string) string {
	t.Helper()
	lines := strings.Split(o.top(t, by), "\n")
	if len(lines) < 4 {
		t.Fatalf("top --by %s:\n%s", by, strings.Join(lines, "\n"))
	}
	t.Logf("top --by %s:\n%s", by, strings.Join(lines, "\n"))
	return strings.Join(strings.Fields(lines[3]), " ")
}

// said waits for a log line with a message and, in one field, a text. It returns the line's fields.
func (o *operator) said(t *testing.T, message, field, text string) map[string]any {
	t.Helper()
	var found map[string]any
	testkit.Eventually(t, "the log has "+message+", "+field+" "+text, func() error {
		for _, line := range o.facade.Lines.FilterMessageSnippet(message).All() {
			fields := line.ContextMap()
			if value, _ := json.Marshal(fields[field]); field == "" || strings.Contains(string(value), text) {
				found = fields
				return nil
			}
		}
		return &silentError{o.facade.Lines}
	})
	line, _ := json.Marshal(found)
	t.Logf("log: %s %s", message, line)
	return found
}

// silentError is returned if the log lacks a line.
type silentError struct{ lines *observer.ObservedLogs }

func (e *silentError) Error() string {
	var all []string
	for _, line := range e.lines.All() {
		fields, _ := json.Marshal(line.ContextMap())
		all = append(all, line.Message+" "+string(fields))
	}
	return "it says\n" + strings.Join(all[max(len(all)-20, 0):], "\n")
}
