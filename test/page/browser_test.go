package page

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// browser is one Chromium process.
type browser struct{ ctx context.Context }

// newBrowser starts a browser that ends with the test. It accepts any certificate, because those of the facades are
// self-signed.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		suite.MayMiss(t, "chromium is not installed")
		t.Skip("chromium is not installed")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.IgnoreCertErrors,
		chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(suite.Patience), chromedp.Flag("disable-dev-shm-usage", true))
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(end)
	ctx, stop := chromedp.NewContext(allocator)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) }) // waits until it has ended
	return &browser{ctx: ctx}
}

// tab is one page with the messages of its console.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu   sync.Mutex
	said []string // errors, violations of the policy, failed requests
}

// look is the screen and the settings of a tab.
type look struct {
	width, height int64
	scheme        string // light or dark
	noScript      bool
}

var desktop = look{width: 1440, height: 1000, scheme: "light"}

// open opens a page in a new tab.
func (b *browser) open(t *testing.T, url string, how look) *tab {
	t.Helper()
	p := &tab{t: t}
	ctx, leave := chromedp.NewContext(b.ctx, chromedp.WithListener(p.listen))
	t.Cleanup(leave)
	p.ctx = ctx
	if err := chromedp.Do(ctx); err != nil { // the tab lives as long as the context of its first step
		t.Fatal(err)
	}
	p.console()
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: how.scheme}}}
	screen := emulation.SetDeviceMetricsOverrideParams{Width: how.width, Height: how.height, DeviceScaleFactor: 1, Mobile: how.width < 600}
	for _, err := range []error{
		called(p.ctx, network.Enable, network.EnableParams{}), called(p.ctx, emulation.SetDeviceMetricsOverride, screen),
		called(p.ctx, emulation.SetEmulatedMedia, media),
		called(p.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: how.noScript}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p.run(chromedp.Navigate(url), chromedp.WaitReady("#verdict"))
	return p
}

func called[P, R any](ctx context.Context, command cdp.Command[P, R], params P) error {
	_, err := chromedp.Call(ctx, command, params)
	return err
}

// console records the messages of the console until the tab is closed.
func (p *tab) console() {
	messages := chromedp.Console(p.ctx)
	go func() {
		for message, err := range messages {
			if err != nil {
				return
			}
			p.says(message.String())
		}
	}()
}

// listen records responses that are errors.
func (p *tab) listen(event any) {
	if e, ok := event.(*network.EventResponseReceived); ok && e.Response.Status >= 400 {
		p.says(fmt.Sprintf("%d %s", e.Response.Status, e.Response.URL))
	}
}

func (p *tab) says(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, what)
}

// quiet fails the test if the console has messages, or if the page permanently says that it is old.
func (p *tab) quiet() {
	p.t.Helper()
	p.eventually("the page does not say that it is old", func() error {
		if said := p.text("#silent:not([hidden])"); said != "" {
			return errors.New(said)
		}
		return nil
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.said) > 0 {
		p.t.Errorf("got messages in the console:\n%s", strings.Join(p.said, "\n"))
	}
}

func (p *tab) run(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := p.try(steps...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) try(steps ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(p.ctx, suite.Patience)
	defer cancel()
	return chromedp.Do(ctx, steps...)
}

// value evaluates a JavaScript expression in a page, which may itself have no script.
func value[T any](p *tab, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, suite.Patience)
	defer cancel()
	for {
		v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
		if err == nil {
			return v
		}
		if !isLoading(err) {
			p.t.Fatalf("%s: got %v", expression, err)
		}
	}
}

// isLoading reports whether the page was replaced by its next load during the evaluation.
func isLoading(err error) bool {
	return slices.ContainsFunc([]string{
		"Execution context was destroyed", "Inspected target navigated or closed", "Cannot find context with specified id",
	}, func(said string) bool { return strings.Contains(err.Error(), said) })
}

// text returns the visible text of an element.
func (p *tab) text(selector string) string {
	p.t.Helper()
	return value[string](p, fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
}

// column returns the texts of a table's column; number begins at 1.
func (p *tab) column(table string, number int) []string {
	p.t.Helper()
	return value[[]string](p, fmt.Sprintf("[...document.querySelectorAll('#%s tbody tr > :nth-child(%d)')].map((c) => c.textContent)", table, number))
}

// follow clicks a link and waits until its page is loaded.
func (p *tab) follow(selector string) {
	p.t.Helper()
	leads := value[string](p, fmt.Sprintf("document.querySelector(%q).href", selector))
	p.run(chromedp.Click(selector))
	p.eventually("the page of the link is loaded", func() error {
		if now := value[string](p, "document.readyState + ' ' + location.href"); now != "complete "+leads {
			return fmt.Errorf("got %s, want %s", now, leads)
		}
		return nil
	})
}

func (p *tab) eventually(what string, check func() error) {
	p.t.Helper()
	testkit.Eventually(p.t, what, check)
}

// shot returns a screenshot of the visible part of the page.
func (p *tab) shot() []byte {
	p.t.Helper()
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	return png
}
