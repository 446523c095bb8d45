package oplog

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

// The paths of Level.Handler. VerbosityPath is kube-apiserver's path, and LevelPath serves the protocol of
// zap.AtomicLevel.
const (
	VerbosityPath = "/debug/flags/v"
	LevelPath     = "/debug/log/level"
)

const (
	// maxLevelBody is the maximum size of a request's body in bytes.
	maxLevelBody = 1 << 10
	// maxVerbosity is the highest klog verbosity that the libraries use.
	maxVerbosity = 10
	maxLasts     = 7 * 24 * time.Hour
)

// Handler serves the paths below /debug/flags and LevelPath. The argument by is the caller's name in the log. The
// handler does not authorize requests.
func (l *Level) Handler(by string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(VerbosityPath, func(w http.ResponseWriter, r *http.Request) { l.serveVerbosity(w, r, by) })
	mux.HandleFunc(LevelPath, func(w http.ResponseWriter, r *http.Request) { l.serveLevel(w, r, by) })
	mux.HandleFunc("/debug/flags", serveFlags)
	mux.HandleFunc("/debug/flags/{$}", serveFlags)
	return mux
}

func serveFlags(w http.ResponseWriter, _ *http.Request) {
	writeText(w, http.StatusOK, "/debug/flags/\n\nv")
}

// serveVerbosity serves VerbosityPath with the responses of kube-apiserver.
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
		err = fmt.Errorf("failed set klog.logging.verbosity %d: maximum is %d", verbosity, maxVerbosity)
	}
	lasts, lastsErr := lastsOf(r)
	if err = errors.Join(err, lastsErr); err != nil {
		writeText(w, http.StatusBadRequest, err.Error())
		return
	}
	l.SetVerbosity(by, uint32(verbosity), lasts)
	writeText(w, http.StatusOK, fmt.Sprintf("successfully set klog.logging.verbosity to %d", verbosity))
}

type leveled struct {
	Level *zapcore.Level `json:"level"`
}

// serveLevel serves LevelPath with the responses of zap.AtomicLevel.
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

// levelOf reads a level from a form or query, as curl sends it, or from JSON.
func levelOf(w http.ResponseWriter, r *http.Request) (level zapcore.Level, err error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxLevelBody)
	if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
		text := r.FormValue("level")
		if text == "" {
			return 0, errNoLevel
		}
		err = level.UnmarshalText([]byte(text))
	} else {
		var body leveled
		switch err = json.NewDecoder(r.Body).Decode(&body); {
		case err != nil:
			err = fmt.Errorf("malformed request body: %w", err)
		case body.Level == nil:
			return 0, errNoLevel
		default:
			level = *body.Level
		}
	}
	if err == nil && (level < zap.DebugLevel || level > zap.ErrorLevel) {
		err = fmt.Errorf("invalid level %q: must be debug, info, warn or error", level)
	}
	return level, err
}

var errNoLevel = errors.New("must specify logging level")

// lastsOf returns how long a change lasts; 0 means permanently.
func lastsOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("for")
	if text == "" {
		return 0, nil
	}
	lasts, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("parameter \"for\": %w", err)
	case lasts <= 0 || lasts > maxLasts:
		return 0, fmt.Errorf("parameter \"for\": %s must be above 0 and at most %s", lasts, maxLasts)
	}
	return lasts, nil
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = fmt.Fprintln(w, text) // the client may have disconnected
}

func writeJSON(w http.ResponseWriter, code int, content any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(content)
}
