package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/oplog"
)

// Counts counts the events of the log.
type Counts interface {
	// AuditLevel counts a request by its audit level; empty means None.
	AuditLevel(level string)
	AuditEvent()
	// AuditErrors counts lost events by plugin: buffered if the buffer was full, log if the write failed.
	AuditErrors(plugin string, events int)
	// AuditRejected counts a request that was rejected because its event could not be written.
	AuditRejected()
}

const (
	// mostWaiting is the maximum number of lines in the buffer in batch mode, as in kube-apiserver. mostBytes is the
	// maximum memory of these lines, in bytes.
	mostWaiting = 10_000
	mostBytes   = 32 << 20
	// unknownShare divides both limits for events of unauthenticated callers, because anyone can cause such events.
	unknownShare = 4
	// batchBytes is the approximate size of a write in batch mode.
	batchBytes = 64 << 10
	slowWrite  = 500 * time.Millisecond
)

// The plugins of kube-apiserver, as values of the label plugin.
const (
	buffered = "buffered"
	plugin   = "log"
)

// errEnded is logged for events that are lost because Run has ended.
var errEnded = errors.New("audit log is closed")

// errNotStored is the error of rejected requests in mode blocking-strict, as in kube-apiserver.
var errNotStored = errors.New("failed to store audit event")

// Log writes the audit log. It is an observe.Observer.
type Log struct {
	observe.Ignore
	rules  rules
	config Config
	counts Counts
	log    *zap.Logger
	queue  chan *[]byte
	queued atomic.Int64 // bytes of memory of the lines in the queue

	unwritten atomic.Int64 // lines in the queue and in writes that have not ended

	open    sync.RWMutex // guards over and counted; held for reading while unwritten changes
	over    bool         // whether later lines are lost
	counted bool         // whether Run has counted the unwritten lines as lost

	mu  sync.Mutex // guards out
	out io.WriteCloser
}

// New reads the policy and opens the output. Run closes the output.
func New(c Config, counts Counts, log *zap.Logger) (*Log, error) {
	rules, bodies, err := readRules(c.PolicyFile)
	if err != nil {
		return nil, err
	}
	out, err := open(c)
	if err != nil {
		return nil, fmt.Errorf("--audit-log-path: %w", err)
	}
	if bodies {
		log.Warn("Audit policy has rules of level RequestResponse; their events are written with level Request, without response bodies")
	}
	return &Log{rules: rules, config: c, counts: counts, log: oplog.Few(log), queue: make(chan *[]byte, mostWaiting),
		out: out}, nil
}

// Received implements observe.Observer.
func (l *Log) Received(e *observe.Event) error {
	l.evaluate(e)
	if l.record(e, auditinternal.StageRequestReceived) || l.config.Mode != BlockingStrict {
		return nil
	}
	e.Audited = observe.Audited{}
	l.counts.AuditRejected()
	return errNotStored
}

// Answering implements observe.Observer.
func (l *Log) Answering(e *observe.Event) {
	if e.Caller != nil {
		l.record(e, auditinternal.StageResponseStarted)
	}
}

// Done implements observe.Observer. For a request that failed authentication, only Done records an event.
func (l *Log) Done(e *observe.Event) {
	if e.Caller == nil {
		l.evaluate(e)
	}
	switch {
	case e.Panicked != "":
		l.record(e, auditinternal.StagePanic)
	case e.Caller == nil:
		l.record(e, auditinternal.StageResponseStarted)
	default:
		l.record(e, auditinternal.StageResponseComplete)
	}
}

func (l *Log) evaluate(e *observe.Event) {
	e.Audited = l.rules.apply(e)
	l.counts.AuditLevel(e.Audited.Level)
}

var lines = sync.Pool{New: func() any { return new([]byte) }}

const keepLine = 4 << 10

// record writes or enqueues the event of a stage if the policy selects it. It returns false if the event is lost.
func (l *Log) record(e *observe.Event, stage auditinternal.Stage) bool {
	if !wants(e, stage) {
		return true
	}
	l.counts.AuditEvent()
	line := lines.Get().(*[]byte)
	if r := newRecord(e, stage); l.config.Format == Legacy {
		*line = append(append((*line)[:0], audit.EventString(r.event())...), '\n')
	} else {
		*line = r.appendLine((*line)[:0])
	}
	if l.config.Mode == Batch {
		return l.enqueue(line, isUnknown(e.Caller))
	}
	defer recycle(line)
	if !l.begin() {
		return false
	}
	defer e.Waited(observe.Auditing, e.Waiting(observe.Auditing))
	return l.write(*line, 1)
}

// begin counts a line as unwritten, unless the line is lost because Run has ended.
func (l *Log) begin() bool {
	l.open.RLock()
	defer l.open.RUnlock()
	if l.over {
		l.lost(1, errEnded)
		return false
	}
	l.unwritten.Add(1)
	return true
}

func isUnknown(caller user.Info) bool { return caller == nil || caller.GetName() == user.Anonymous }

func (l *Log) enqueue(line *[]byte, unknown bool) bool {
	l.open.RLock()
	defer l.open.RUnlock()
	if l.over {
		recycle(line)
		l.lost(1, errEnded)
		return false
	}
	share := 1
	if unknown {
		share = unknownShare
	}
	size := int64(cap(*line)) // memory of the line while it waits
	if l.queued.Add(size) <= int64(mostBytes/share) && len(l.queue) < mostWaiting/share {
		l.unwritten.Add(1)
		select {
		case l.queue <- line:
			return true
		default:
		}
		l.unwritten.Add(-1)
	}
	l.queued.Add(-size)
	recycle(line)
	l.counts.AuditErrors(buffered, 1)
	l.log.Error("Dropped audit events: the log cannot keep up")
	return false
}

// Waiting returns the number of lines that are not written yet, and the bytes of memory of those in the queue.
func (l *Log) Waiting() (lines int, bytes int64) { return int(l.unwritten.Load()), l.queued.Load() }

func recycle(line *[]byte) {
	if cap(*line) <= keepLine {
		lines.Put(line)
	}
}

// write writes the lines of the given number of events. It returns false if the write failed.
func (l *Log) write(text []byte, events int) bool {
	err := l.put(text)
	l.open.RLock()
	defer l.open.RUnlock()
	l.unwritten.Add(-int64(events))
	if err != nil && !l.counted {
		l.lost(events, err)
	}
	return err == nil
}

func (l *Log) put(text []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	began := time.Now()
	_, err := l.out.Write(text)
	if took := time.Since(began); took > slowWrite {
		l.log.Warn("Audit log write was slow", zap.Duration("took", took), zap.Int("bytes", len(text)))
	}
	return err
}

func (l *Log) lost(events int, why error) {
	l.counts.AuditErrors(plugin, events)
	l.log.Error("Failed to write audit events", zap.Error(why))
}

// finishWithin is how long Run waits for the disk after its context has ended.
const finishWithin = 10 * time.Second

// Run writes the queued lines until the context ends, and then the remaining ones, for at most finishWithin. Lines that
// are not written by then, and all later ones, are counted and logged as lost.
func (l *Log) Run(ctx context.Context) {
	written := make(chan struct{})
	go func() { defer close(written); l.writeAll(ctx) }()
	<-ctx.Done()
	late := time.NewTimer(finishWithin)
	defer late.Stop()
	select {
	case <-written:
	case <-late.C:
		l.giveUp()
	}
}

// giveUp counts the unwritten lines as lost. It does not wait for their writes.
func (l *Log) giveUp() {
	l.open.Lock()
	l.over, l.counted = true, true
	lines, _ := l.Waiting()
	l.open.Unlock()
	l.counts.AuditErrors(plugin, lines)
	l.log.Error("Failed to flush audit log before the timeout", zap.Int("linesLost", lines))
}

// writeAll writes queued lines until the context ends, then the remaining ones, and closes the output.
func (l *Log) writeAll(ctx context.Context) {
	defer l.close()
	var batch []byte
	for ctx.Err() == nil {
		select {
		case line := <-l.queue:
			batch = l.writeBatch(batch[:0], line)
		case <-ctx.Done():
		}
	}
	l.closeQueue()
	for len(l.queue) > 0 {
		batch = l.writeBatch(batch[:0], <-l.queue)
	}
}

// closeQueue makes later lines count as lost. It waits for the enqueue calls that are still running.
func (l *Log) closeQueue() {
	l.open.Lock()
	defer l.open.Unlock()
	l.over = true
}

// writeBatch writes a line together with lines that follow it in the queue.
func (l *Log) writeBatch(batch []byte, line *[]byte) []byte {
	events := 0
	for line != nil {
		events++
		batch = append(batch, *line...)
		l.queued.Add(-int64(cap(*line)))
		recycle(line)
		line = nil
		if len(batch) < batchBytes {
			select {
			case line = <-l.queue:
			default:
			}
		}
	}
	l.write(batch, events)
	return batch
}

func (l *Log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.out.Close(); err != nil {
		l.log.Error("Failed to close audit log", zap.Error(err))
	}
	l.out = ended{}
}

// ended is the output of a closed log.
type ended struct{}

func (ended) Write([]byte) (int, error) { return 0, errEnded }

func (ended) Close() error { return nil }
