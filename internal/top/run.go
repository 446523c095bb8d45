package top

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/accounting"
)

// Path is the path that the command requests.
const Path = "/debug/clients"

// mostBytes bounds a response, in bytes. No response of a facade is that large.
const mostBytes = 16 << 20

var errInterval = errors.New("--interval must be above 0")

// Run prints the ranking of a facade to out, once or until the context ends. The end of the context is not an error. On
// a terminal, each table replaces the previous table. If a request fails, Run prints the error and continues. With
// Options.Once it returns the error.
func Run(ctx context.Context, config *rest.Config, o Options, out io.Writer) error {
	if o.Interval <= 0 {
		return errInterval
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return fmt.Errorf("parse facade address: %w", err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("create client for %s: %w", base, err)
	}
	defer client.CloseIdleConnections()
	return poll(ctx, &facade{client: client, at: base.JoinPath(Path)}, o, out)
}

type facade struct {
	client *http.Client
	at     *url.URL // URL of Path
}

// poll sends requests at the interval. A failed request ends poll only with Options.Once.
func poll(ctx context.Context, f *facade, o Options, out io.Writer) error {
	ticker := time.NewTicker(o.Interval)
	defer ticker.Stop()
	for {
		ranking, err := f.ask(ctx, o)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			err = show(out, ranking, o.Once)
		case !o.Once: // the next request may succeed
			err = put(out, err.Error()+"\n", false)
		}
		if err != nil || o.Once {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (f *facade) ask(ctx context.Context, o Options) (*accounting.Ranking, error) {
	query := url.Values{"by": {o.By}, "window": {o.Window.String()}, "limit": {strconv.Itoa(o.Limit)}, "output": {"json"}}
	target := *f.at
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("create request for %s: %w", f.at, err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := f.client.Do(request)
	if err != nil {
		return nil, err // already contains the URL
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostBytes))
	if err != nil {
		return nil, fmt.Errorf("read response of %s: %w", f.at, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s responded with %s: %s", f.at, response.Status, reasonOf(body))
	}
	var ranking accounting.Ranking
	if err := json.Unmarshal(body, &ranking); err != nil {
		return nil, fmt.Errorf("parse response of %s, which is possibly not a listfacade: %w", f.at, err)
	}
	return &ranking, nil
}

// reasonOf returns the message of a Status, or the beginning of any other body.
func reasonOf(body []byte) string {
	var status metav1.Status
	if json.Unmarshal(body, &status) == nil && status.Message != "" {
		return strconv.QuoteToGraphic(status.Message)
	}
	return strconv.QuoteToGraphic(string(body[:min(len(body), 200)]))
}

// clearScreen clears a terminal and moves the cursor to its upper left corner.
const clearScreen = "\x1b[H\x1b[2J"

func show(out io.Writer, ranking *accounting.Ranking, once bool) error {
	ranking.Sanitize()
	var text strings.Builder
	if err := ranking.WriteText(&text); err != nil {
		return err
	}
	return put(out, text.String(), once)
}

// put writes a text. On a terminal, unless once is true, the text replaces the previous one. The text is then cut to
// the size of the terminal, because wrapped lines are hard to read.
func put(out io.Writer, text string, once bool) error {
	width, height, isTerminal := sizeOf(out)
	switch {
	case once:
	case isTerminal:
		text = clearScreen + fitted(text, width, height)
	default:
		text += "\n"
	}
	_, err := out.Write([]byte(text))
	return err
}

func sizeOf(out io.Writer) (width, height int, ok bool) {
	file, ok := out.(*os.File)
	if !ok {
		return 0, 0, false
	}
	width, height, err := term.GetSize(int(file.Fd())) //nolint:gosec // a file descriptor
	return width, height, err == nil
}

// fitted cuts a text to the size of a terminal. The last line stays free for the cursor.
func fitted(text string, width, height int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	lines = lines[:min(len(lines), max(height-1, 1))]
	for i, line := range lines {
		if utf8.RuneCountInString(line) > width {
			lines[i] = string([]rune(line)[:width])
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
