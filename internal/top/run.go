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

// Path is what the command asks a facade for.
const Path = "/debug/clients"

// mostBytes is more than any answer has.
const mostBytes = 16 << 20

// errInterval is an interval in which nothing could be asked.
var errInterval = errors.New("--interval must be above 0")

// Run asks a facade and writes what it says, once or until the context ends, which is no error. Where out is a
// terminal, each table takes the place of the one before, and so does the error of a question that failed, after which
// the next is asked; once, it is returned.
func Run(ctx context.Context, config *rest.Config, o Options, out io.Writer) error {
	if o.Interval <= 0 {
		return errInterval
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return fmt.Errorf("read the facade's address: %w", err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("prepare to ask %s: %w", base, err)
	}
	defer client.CloseIdleConnections()
	return look(ctx, &facade{client: client, at: base.JoinPath(Path)}, o, out)
}

// facade is whom is asked.
type facade struct {
	client *http.Client
	at     *url.URL // of Path
}

// look asks again and again. A question that fails is no end, unless it is the only one.
func look(ctx context.Context, f *facade, o Options, out io.Writer) error {
	ticker := time.NewTicker(o.Interval)
	defer ticker.Stop()
	for {
		ranking, err := f.ask(ctx, o)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			err = show(out, ranking, o.Once)
		case !o.Once: // the next answer may be another
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

// ask returns what the facade says.
func (f *facade) ask(ctx context.Context, o Options) (*accounting.Ranking, error) {
	query := url.Values{"by": {o.By}, "window": {o.Window.String()}, "limit": {strconv.Itoa(o.Limit)}, "output": {"json"}}
	asked := *f.at
	asked.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, asked.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", f.at, err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := f.client.Do(request)
	if err != nil {
		return nil, err // which names the URL
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostBytes))
	if err != nil {
		return nil, fmt.Errorf("read what %s says: %w", f.at, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s says %s: %s", f.at, response.Status, reasonOf(body))
	}
	var ranking accounting.Ranking
	if err := json.Unmarshal(body, &ranking); err != nil {
		return nil, fmt.Errorf("read what %s says, which may be no listfacade: %w", f.at, err)
	}
	return &ranking, nil
}

// reasonOf is the message of a Status, or the beginning of what is none.
func reasonOf(body []byte) string {
	var status metav1.Status
	if json.Unmarshal(body, &status) == nil && status.Message != "" {
		return strconv.QuoteToGraphic(status.Message)
	}
	return strconv.QuoteToGraphic(string(body[:min(len(body), 200)]))
}

// clearScreen empties a terminal and goes to its upper left corner.
const clearScreen = "\x1b[H\x1b[2J"

// show writes a table.
func show(out io.Writer, ranking *accounting.Ranking, once bool) error {
	ranking.Sanitize()
	var text strings.Builder
	if err := ranking.WriteText(&text); err != nil {
		return err
	}
	return put(out, text.String(), once)
}

// put writes a text in the place of the one before. A terminal has as much of it as it is large, since a line that is
// broken is hard to read.
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

// sizeOf is how large a terminal is; ok is false where out is none.
func sizeOf(out io.Writer) (width, height int, ok bool) {
	file, ok := out.(*os.File)
	if !ok {
		return 0, 0, false
	}
	width, height, err := term.GetSize(int(file.Fd())) //nolint:gosec // a file descriptor
	return width, height, err == nil
}

// fitted is what of a text fits into a terminal, whose last line is left to the cursor.
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
