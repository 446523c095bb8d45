package assess

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/price"
)

// WriteText writes the report as sentences, and a table with one line for each client.
func (r *Report) WriteText(w io.Writer) error {
	length := r.To.Sub(r.From)
	var text strings.Builder
	fmt.Fprintf(&text, "%s to %s (%s): %d requests of %d clients.\n", r.From.UTC().Format(time.RFC3339),
		r.To.UTC().Format(time.RFC3339), length.Round(time.Second), r.Requests, len(r.Clients)+r.Left-min(r.Left, 1))
	if r.Log != nil {
		r.writeLog(&text)
	}
	fmt.Fprintf(&text, "A facade would answer %s of the requests. %s of these need a freshness check at kube-apiserver; waiting readers share one.\n",
		percent(r.Served, r.Requests), percent(r.Checked, r.Served))
	fmt.Fprintf(&text, "CPU of kube-apiserver for these requests: %s.\n", spoken(r.CPU, length))
	fmt.Fprintf(&text, "A facade would save %s of it, after subtraction of its own watches (%s). It would use %s itself.\n",
		spoken(r.Saved, length), seconds(r.Own.Estimate), seconds(r.Facade.Estimate))
	fmt.Fprintf(&text, "Each start of a facade costs kube-apiserver about %s.\n", seconds(r.Start.Estimate))
	for _, note := range r.Notes {
		fmt.Fprintf(&text, "Note: %s\n", note)
	}
	text.WriteByte('\n')
	if _, err := io.WriteString(w, text.String()); err != nil {
		return err
	}
	return r.writeClients(w)
}

func (r *Report) writeLog(text *strings.Builder) {
	if n := r.Log.Broken; n > 0 {
		fmt.Fprintf(text, "%d of %d lines are not audit events and were left out. The first one: %s.\n", n, r.Log.Lines,
			strconv.QuoteToGraphic(r.Log.FirstBroken))
	}
	if n := r.Log.TooLong; n > 0 {
		fmt.Fprintf(text, "%d lines are longer than 4 MiB and were left out.\n", n)
	}
	for _, file := range r.Log.CutOff {
		fmt.Fprintf(text, "A file could not be read to its end: %s.\n", strconv.QuoteToGraphic(file))
	}
}

var titles = []string{
	"USER", "PROGRAM", "REQUESTS", "LISTS", "LIST-BYTES", "WATCHES", "EVENTS", "CPU", "CPU-RANGE", "SHARE", "MOVE",
	"SAVED", "SAVED-RANGE", "WHY-NOT",
}

func (r *Report) writeClients(w io.Writer) error {
	return observe.WriteTable(w, len(r.Clients), titles, func(i int, cells []string) {
		c := &r.Clients[i]
		share := 0.0
		if r.CPU.Estimate > 0 {
			share = c.CPU.Estimate / r.CPU.Estimate
		}
		move := string(c.Move)
		if c.User == Others {
			move = ""
		}
		copy(cells, []string{
			c.User, c.Program, strconv.Itoa(c.Requests), strconv.Itoa(c.Lists), byteText(c.ListBytes), average(c.Watches),
			strconv.FormatFloat(c.Events.Estimate, 'f', 0, 64), seconds(c.CPU.Estimate), ranged(c.CPU),
			fmt.Sprintf("%.1f%%", 100*share), move, seconds(c.Saved.Estimate), ranged(c.Saved), reasons(c.WhyNot),
		})
	})
}

// reasons lists the requests that a facade does not serve: "writes: 312 refused; Secrets: 4 forwarded".
func reasons(all []Why) string {
	var texts []string
	for _, why := range all {
		fate := "forwarded"
		if why.Refused {
			fate = "refused"
		}
		texts = append(texts, fmt.Sprintf("%s: %d %s", why.Reason, why.Requests, fate))
	}
	return strings.Join(texts, "; ")
}

func spoken(b price.Bounds, length time.Duration) string {
	text := fmt.Sprintf("%s (%s to %s)", seconds(b.Estimate), seconds(b.Low), seconds(b.High))
	if length > 0 {
		text += fmt.Sprintf(", on average %.2g processors", max(b.Estimate, 0)/length.Seconds())
	}
	return text
}

func ranged(b price.Bounds) string { return seconds(b.Low) + ".." + seconds(b.High) }

func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	unit := time.Duration(1)
	for d.Abs() >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit).String()
}

func percent(part, whole int) string {
	if whole == 0 {
		return "0%"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

func average(n float64) string { return strconv.FormatFloat(n, 'f', 1, 64) }

func byteText(n float64) string {
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if n < 1000 {
			return fmt.Sprintf("%.3g %s", n, unit)
		}
		n /= 1000
	}
	return fmt.Sprintf("%.4g TB", n)
}
