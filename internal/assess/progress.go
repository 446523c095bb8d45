package assess

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/listfacade/listfacade/internal/assess/auditlog"
)

const (
	showEvery = 200 * time.Millisecond
	barWidth  = 30
	eraseLine = "\r\x1b[K"
)

// showProgress draws a bar until the context ends, and then erases it. It draws nothing if w is not a terminal.
func showProgress(ctx context.Context, w io.Writer, files *auditlog.Files) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) { //nolint:gosec // a file descriptor
		return
	}
	began := time.Now()
	ticker := time.NewTicker(showEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			_, _ = io.WriteString(w, eraseLine)
			return
		case <-ticker.C:
			_, _ = io.WriteString(w, eraseLine+bar(files.Read(), files.Size, time.Since(began)))
		}
	}
}

// bar returns the text of the progress bar. all is 0 if the size of the logs is unknown.
func bar(read, all int64, after time.Duration) string {
	done := byteText(float64(read))
	if after > 0 {
		done += fmt.Sprintf(", %s/s", byteText(float64(read)/after.Seconds()))
	}
	if all <= 0 || read <= 0 {
		return done
	}
	share := min(float64(read)/float64(all), 1)
	filled := int(share * barWidth)
	left := time.Duration(float64(after) * (1 - share) / share)
	return fmt.Sprintf("[%s%s] %3.0f%%  %s, %s left", strings.Repeat("=", filled), strings.Repeat(" ", barWidth-filled),
		100*share, done, left.Round(time.Second))
}
