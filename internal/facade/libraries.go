package facade

import (
	"bytes"
	"fmt"
	"log"
	"strconv"

	"github.com/go-logr/logr"
	"go.uber.org/zap"
	"k8s.io/klog/v2"

	"github.com/listfacade/listfacade/internal/observe"
)

// What libraries log is not ours to word. Much of it is about single requests and connections, with the client's text
// in it, so it is for who looks for it: at level debug, and each record bounded.

// maxRecord is how many bytes of a library's record are logged.
const maxRecord = 1 << 10

// LogLibraries lets the Kubernetes libraries log into this log, in the whole process: what logs for them is theirs, and
// global. It is for before anything else runs.
func LogLibraries(log *zap.Logger) {
	klog.SetLogger(logr.New(&librarySink{log: log.Named("kubernetes")}))
}

// setVerbosity says how much the libraries log, in the whole process.
func setVerbosity(to uint32) {
	var level klog.Level
	if err := level.Set(strconv.FormatUint(uint64(to), 10)); err != nil {
		panic("BUG: a number is no verbosity: " + err.Error())
	}
}

// librarySink is a logr.LogSink.
type librarySink struct {
	log    *zap.Logger
	values []any
}

// Init implements logr.LogSink.
func (*librarySink) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (s *librarySink) Enabled(int) bool { return s.log.Core().Enabled(zap.DebugLevel) }

// Info implements logr.LogSink.
func (s *librarySink) Info(_ int, message string, values ...any) { s.write(message, nil, values) }

// Error implements logr.LogSink. klog asks no Enabled before it.
func (s *librarySink) Error(err error, message string, values ...any) { s.write(message, err, values) }

// WithValues implements logr.LogSink.
func (s *librarySink) WithValues(values ...any) logr.LogSink {
	return &librarySink{log: s.log, values: append(append([]any(nil), s.values...), values...)}
}

// WithName implements logr.LogSink.
func (s *librarySink) WithName(name string) logr.LogSink {
	return &librarySink{log: s.log.Named(name), values: s.values}
}

// write puts everything into fields, which are escaped.
func (s *librarySink) write(message string, err error, values []any) {
	entry := s.log.Check(zap.DebugLevel, "a library logged")
	if entry == nil {
		return
	}
	fields := []zap.Field{zap.String("record", bounded(message))}
	if err != nil {
		fields = append(fields, zap.String("error", bounded(err.Error())))
	}
	if values = append(append([]any(nil), s.values...), values...); len(values) > 0 {
		fields = append(fields, zap.String("values", bounded(fmt.Sprint(values...))))
	}
	entry.Write(fields...)
}

func bounded(s string) string { return s[:min(len(s), maxRecord)] }

// newServerLog is where net/http logs what goes wrong with connections: a failed handshake is for who looks for it.
// What an operator must know, that no connection can be accepted or that a handler panicked, is a warning, of which
// there are a few a minute at most.
func newServerLog(to *zap.Logger) *log.Logger {
	to = to.Named("http")
	return log.New(&serverLog{debug: to, warn: observe.Few(to)}, "", 0)
}

// grave begin the lines of net/http that are not about one connection.
var grave = [][]byte{[]byte("http: Accept error"), []byte("http: panic serving")}

// serverLog is an io.Writer, of one line at a time.
type serverLog struct{ debug, warn *zap.Logger }

// Write implements io.Writer.
func (s *serverLog) Write(line []byte) (int, error) {
	record := zap.ByteString("record", bytes.TrimSpace(line[:min(len(line), maxRecord)]))
	for _, begin := range grave {
		if bytes.HasPrefix(line, begin) {
			s.warn.Warn(string(begin), record)
			return len(line), nil
		}
	}
	s.debug.Debug("a connection went wrong", record)
	return len(line), nil
}
