package observe

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// The paths of a Level: the first as in kube-apiserver, the second as zap has it.
const (
	VerbosityPath = "/debug/flags/v"
	LevelPath     = "/debug/log/level"
)

const (
	// maxLevelBody is how many bytes of a request are read.
	maxLevelBody = 1 << 10
	// maxVerbosity is the most that libraries have a use for.
	maxVerbosity = 10
	// maxLasts bounds how far off an end may be.
	maxLasts = 7 * 24 * time.Hour
)

// Handler answers below /debug/flags and at LevelPath for somebody, who is named in the log. It asks nobody whether he
// may.
func (l *Level) Handler(by string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(VerbosityPath, func(w http.ResponseWriter, r *http.Request) { l.serveVerbosity(w, r, by) })
	mux.HandleFunc(LevelPath, func(w http.ResponseWriter, r *http.Request) { l.serveLevel(w, r, by) })
	mux.HandleFunc("/debug/flags", serveFlags)
	mux.HandleFunc("/debug/flags/{$}", serveFlags)
	return mux
}

// serveFlags lists the flags that can be changed.
func serveFlags(w http.ResponseWriter, _ *http.Request) {
	writeText(w, http.StatusOK, "/debug/flags/\n\nv")
}

// serveVerbosity answers as kube-apiserver does.
func (l *Level) serveVerbosity(w http.ResponseWriter, r *http.Request, by string) {
	if r.Method != http.MethodPut {
		writeText(w, http.StatusNotAcceptable, "unsupported http method")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLevelBody))
	if err != nil {
		writeText(w, http.StatusBadRequest, "error reading request body: "+err.Error())
		return
	}
	verbosity, err := strconv.ParseUint(string(body), 10, 32)
	if err == nil && verbosity > maxVerbosity {
		err = fmt.Errorf("failed set klog.logging.verbosity %d: it is %d at most", verbosity, maxVerbosity)
	}
	lasts, lastsErr := lastsOf(r)
	if err = errors.Join(err, lastsErr); err != nil {
		writeText(w, http.StatusBadRequest, err.Error())
		return
	}
	l.SetVerbosity(by, uint32(verbosity), lasts)
	writeText(w, http.StatusOK, fmt.Sprintf("successfully set klog.logging.verbosity to %d", verbosity))
}

// leveled is what is said and heard at LevelPath.
type leveled struct {
	Level *zapcore.Level `json:"level"`
}

// serveLevel answers as zap.AtomicLevel does.
func (l *Level) serveLevel(w http.ResponseWriter, r *http.Request, by string) {
	switch r.Method {
	case http.MethodGet:
		level := l.Now().Level
		writeJSON(w, http.StatusOK, leveled{Level: &level})
	case http.MethodPut:
		level, err := levelOf(w, r)
		lasts, lastsErr := lastsOf(r)
		if err = errors.Join(err, lastsErr); err != nil {
			writeJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
			return
		}
		l.SetLevel(by, level, lasts)
		writeJSON(w, http.StatusOK, leveled{Level: &level})
	default:
		writeJSON(w, http.StatusMethodNotAllowed, map[string]string{"error": "Only GET and PUT are supported."})
	}
}

// levelOf reads a level from a form or a query, as curl sends it, or from JSON.
func levelOf(w http.ResponseWriter, r *http.Request) (level zapcore.Level, err error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxLevelBody)
	if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
		text := r.FormValue("level")
		if text == "" {
			return 0, errNoLevel
		}
		err = level.UnmarshalText([]byte(text))
	} else {
		var said leveled
		switch err = json.NewDecoder(r.Body).Decode(&said); {
		case err != nil:
			err = fmt.Errorf("malformed request body: %w", err)
		case said.Level == nil:
			return 0, errNoLevel
		default:
			level = *said.Level
		}
	}
	if err == nil && (level < zap.DebugLevel || level > zap.ErrorLevel) {
		err = fmt.Errorf("unusable level %q: debug, info, warn or error", level)
	}
	return level, err
}

var errNoLevel = errors.New("must specify logging level")

// lastsOf is how long a change is to last; 0 is until the next.
func lastsOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("for")
	if text == "" {
		return 0, nil
	}
	lasts, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("for: %w", err)
	case lasts <= 0 || lasts > maxLasts:
		return 0, fmt.Errorf("for: %s is not between 0 and %s", lasts, maxLasts)
	}
	return lasts, nil
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = fmt.Fprintln(w, text) // whoever asked may be gone
}

func writeJSON(w http.ResponseWriter, code int, content any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(content)
}
