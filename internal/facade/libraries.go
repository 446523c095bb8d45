package facade

import (
	"bytes"
	"fmt"
	"log"
	"strconv"

	"github.com/go-logr/logr"
	"go.uber.org/zap"
	"k8s.io/klog/v2"

	"github.com/listfacade/listfacade/internal/oplog"
)

// This project does not control the messages of libraries. Most of them are about single requests and connections, and
// contain text from clients. Therefore they are logged at level debug, and each record is bounded.

const maxRecord = 1 << 10 // bytes

// LogLibraries makes the Kubernetes libraries write to the given log. Their logger is global, so this affects the
// complete process. LogLibraries must be called before other parts run.
func LogLibraries(log *zap.Logger) {
	klog.SetLogger(logr.New(&librarySink{log: log.Named("kubernetes")}))
}

// setVerbosity sets the verbosity of the Kubernetes libraries, for the complete process.
func setVerbosity(to uint32) {
	var level klog.Level
	if err := level.Set(strconv.FormatUint(uint64(to), 10)); err != nil {
		panic("BUG: set verbosity: " + err.Error())
	}
}

type librarySink struct {
	log    *zap.Logger
	values []any
}

func (*librarySink) Init(logr.RuntimeInfo) {}

func (s *librarySink) Enabled(int) bool { return s.log.Core().Enabled(zap.DebugLevel) }

func (s *librarySink) Info(_ int, message string, values ...any) { s.write(message, nil, values) }

// Error logs at level debug, too. klog does not call Enabled before Error.
func (s *librarySink) Error(err error, message string, values ...any) { s.write(message, err, values) }

func (s *librarySink) WithValues(values ...any) logr.LogSink {
	return &librarySink{log: s.log, values: append(append([]any(nil), s.values...), values...)}
}

func (s *librarySink) WithName(name string) logr.LogSink {
	return &librarySink{log: s.log.Named(name), values: s.values}
}

// write writes the message, the error and the values into fields, because fields are escaped.
func (s *librarySink) write(message string, err error, values []any) {
	entry := s.log.Check(zap.DebugLevel, "Library logged")
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

// newServerLog returns the log of net/http. Errors of single connections, such as a failed handshake, are logged at
// level debug. A failing listener or a panicking handler is logged as a warning, a few times a minute at most.
func newServerLog(to *zap.Logger) *log.Logger {
	to = to.Named("http")
	return log.New(&serverLog{debug: to, warn: oplog.Few(to)}, "", 0)
}

// grave are the beginnings of net/http's messages that are not about one connection.
var grave = [][]byte{[]byte("http: Accept error"), []byte("http: panic serving")}

type serverLog struct{ debug, warn *zap.Logger }

func (s *serverLog) Write(line []byte) (int, error) {
	record := zap.ByteString("record", bytes.TrimSpace(line[:min(len(line), maxRecord)]))
	for _, begin := range grave {
		if bytes.HasPrefix(line, begin) {
			s.warn.Warn(string(begin), record)
			return len(line), nil
		}
	}
	s.debug.Debug("Connection failed", record)
	return len(line), nil
}
