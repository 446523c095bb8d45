package assess

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/listfacade/listfacade/internal/assess/auditlog"
)

// Options are the flags of the command.
type Options struct {
	Files     []string // audit logs; - is the standard input
	Metrics   string   // file with the metrics of kube-apiserver; empty if there is none
	Output    string   // table or json
	Limit     int      // maximum number of clients; 0 means all
	SampleFor time.Duration
}

func (o Options) validate() error {
	switch {
	case o.Output != "table" && o.Output != "json":
		return errOutput
	case o.Limit < 0:
		return errLimit
	case o.SampleFor < 2*sampleEvery:
		return errSample
	}
	return nil
}

// Streams are the standard streams of the process.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run writes the report about the audit logs or, without logs, about a kube-apiserver. live is the kube-apiserver; it
// may be nil if there are logs.
func Run(ctx context.Context, o Options, live *Live, streams Streams) error {
	if err := o.validate(); err != nil {
		return err
	}
	report, err := reportOf(ctx, o, live, streams)
	if err != nil {
		return err
	}
	if o.Output == "json" {
		encoder := json.NewEncoder(streams.Out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	return report.WriteText(streams.Out)
}

func reportOf(ctx context.Context, o Options, live *Live, streams Streams) (*Report, error) {
	if len(o.Files) == 0 {
		return live.report(ctx, o, streams.Err)
	}
	known, err := sizesOf(ctx, o, live)
	if err != nil {
		return nil, err
	}
	return readLogs(ctx, o, known, streams)
}

// sizesOf returns the sizes of resources; nil if they are unknown.
func sizesOf(ctx context.Context, o Options, live *Live) (sizes, error) {
	switch {
	case o.Metrics != "" && live != nil:
		return nil, errTwoSizes
	case live != nil:
		s, err := live.scrape(ctx)
		if err != nil {
			return nil, err
		}
		return s.sizes, nil
	case o.Metrics == "":
		return nil, nil
	}
	file, err := os.Open(o.Metrics)
	if err != nil {
		return nil, fmt.Errorf("open metrics: %w", err)
	}
	defer file.Close()
	s, err := readScrape(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Metrics, err)
	}
	return s.sizes, nil
}

func readLogs(ctx context.Context, o Options, known sizes, streams Streams) (*Report, error) {
	files, err := auditlog.Find(o.Files, streams.In)
	if err != nil {
		return nil, err
	}
	t := newTally()
	shown, hide := context.WithCancel(ctx)
	var showing sync.WaitGroup
	showing.Go(func() { showProgress(shown, streams.Err, files) })
	counts, err := files.Each(ctx, t.add)
	hide()
	showing.Wait()
	if err != nil {
		return nil, err
	}
	if len(t.uses) == 0 {
		return nil, &EmptyLogError{Counts: counts}
	}
	uses := t.all()
	m := &model{sizes: known, length: t.length(), writes: t.writes}
	r := m.report(uses, o.Limit)
	r.From, r.To, r.Log = t.from, t.to, &counts
	r.Notes = t.notes(known)
	return r, nil
}

func (t *tally) notes(known sizes) []string {
	notes := []string{}
	if known == nil {
		notes = append(notes, "sizes of objects are unknown, so the cost of lists is estimated from their durations. "+
			"Give --metrics FILE, a file with the /metrics of kube-apiserver, or --kubeconfig.")
	}
	if n := known.unsized(); n > 0 {
		notes = append(notes, fmt.Sprintf("kube-apiserver does not report the size of %d resources, so usual sizes are assumed. "+
			"It reports none before 1.34, and perhaps none until objects have changed.", n))
	}
	if len(t.writes) == 0 {
		notes = append(notes, "the log has no writes, so events of watches are not counted. The audit policy may omit writes.")
	}
	const short = 10 * time.Minute
	if t.length() < short {
		notes = append(notes, "the log covers less than ten minutes. Watches that began earlier and are still open are not in it.")
	}
	if t.folded > 0 {
		notes = append(notes, fmt.Sprintf("the log has too many kinds of requests to keep. %d cheap ones are counted as %s.",
			t.folded, Others))
	}
	return notes
}
