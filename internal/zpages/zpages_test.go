package zpages

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// The value of a secret flag is never shown.
func TestSecretFlagsAreMasked(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.String("password", "hunter2", "")
	flags.StringSlice("warm-from", []string{"https://me:hunter2@a:1", "https://b:2"}, "")
	flags.Int("secure-port", 6443, "")
	if err := flags.SetAnnotation("password", Classified, []string{"true"}); err != nil {
		t.Fatal(err)
	}
	values := Flags(flags)
	if values["password"] != "CLASSIFIED" || values["warm-from"] != "[https://CLASSIFIED@a:1,https://b:2]" || values["secure-port"] != "6443" {
		t.Errorf("got %q", values)
	}
	text := string(Flagz(values).Text())
	if strings.Contains(text, "hunter2") || !strings.HasPrefix(text, "\nlistfacade flagz\nWarning: ") || !strings.Contains(text, "\nsecure-port") {
		t.Errorf("got %s", text)
	}
}

// Only the first elements of paths are listed, each once, without those of the API.
func TestStatuszPaths(t *testing.T) {
	p := Process{Version: "v1", Started: time.Now(), Paths: []string{"/metrics/slis", "/metrics", "/api/v1", "/apis", "/debug/status", "/"}}
	if text := string(p.text()); !strings.Contains(text, "/debug /metrics\n") || strings.Contains(text, "/api") {
		t.Errorf("got %s", text)
	}
}
