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
)

// Counts is told what becomes of the log.
type Counts interface {
	// AuditLevel counts a request by what of it is written; level is one of the policy's.
	AuditLevel(level string)
	// AuditEvent counts an event that was made.
	AuditEvent()
	// AuditErrors counts events that are not in the log, by what lost them: buffered, for want of room, or log.
	AuditErrors(plugin string, events int)
	// AuditRejected counts a request that was refused because it could not be written down.
	AuditRejected()
}

const (
	// mostWaiting is how many lines wait to be written in batch mode, as in kube-apiserver, and mostBytes what they may
	// take.
	mostWaiting = 10_000
	mostBytes   = 32 << 20
	// unknownShare is which part of both may be taken when an event is left whose caller is not known: anybody can send as
	// many of those as he likes.
	unknownShare = 4
	// batchBytes is about how much is written at once.
	batchBytes = 64 << 10
	// slowWrite is from when on it is said that a write took long.
	slowWrite = 500 * time.Millisecond
)

// The plugins of kube-apiserver, whose names are the values of a label.
const (
	buffered = "buffered"
	plugin   = "log"
)

// errEnded is why an event is not written that is told when Run has ended.
var errEnded = errors.New("the audit log has ended")

// errNotStored is what a request is refused with in mode blocking-strict.
var errNotStored = errors.New("failed to store audit event")

// Log writes the audit log. It is an observe.Follower.
type Log struct {
	rules  rules
	config Config
	counts Counts
	log    *zap.Logger
	queue  chan *[]byte
	queued atomic.Int64 // bytes that the queue holds

	open sync.RWMutex // held for reading while a line is put into the queue
	over bool         // nobody reads the queue any more

	mu  sync.Mutex // of out
	out io.WriteCloser
}

// New reads the policy and opens the file. Run closes it.
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
		log.Warn("the audit policy has rules of level RequestResponse: what is in answers is not written, their events are of level Request")
	}
	return &Log{rules: rules, config: c, counts: counts, log: observe.Few(log), queue: make(chan *[]byte, mostWaiting), out: out}, nil
}

// Received implements observe.Follower.
func (l *Log) Received(e *observe.Event) error {
	l.evaluate(e)
	if l.tell(e, auditinternal.StageRequestReceived) || l.config.Mode != BlockingStrict {
		return nil
	}
	e.Audited = observe.Audited{}
	l.counts.AuditRejected()
	return errNotStored
}

// Answering implements observe.Follower.
func (l *Log) Answering(e *observe.Event) {
	if e.Caller != nil {
		l.tell(e, auditinternal.StageResponseStarted)
	}
}

// Lagging implements observe.Follower.
func (*Log) Lagging(*observe.Event, observe.Lag) {}

// Done implements observe.Sink. Who was refused before it was known who he is has one event, and no other stage.
func (l *Log) Done(e *observe.Event) {
	if e.Caller == nil {
		l.evaluate(e)
	}
	switch {
	case e.Panicked != "":
		l.tell(e, auditinternal.StagePanic)
	case e.Caller == nil:
		l.tell(e, auditinternal.StageResponseStarted)
	default:
		l.tell(e, auditinternal.StageResponseComplete)
	}
}

func (l *Log) evaluate(e *observe.Event) {
	e.Audited = l.rules.apply(e)
	l.counts.AuditLevel(e.Audited.Level)
}

// lines are the buffers of lines.
var lines = sync.Pool{New: func() any { return new([]byte) }}

// keepLine is how large in bytes a buffer may be that is used again.
const keepLine = 4 << 10

// tell writes a stage of a request if the policy wants it, and tells whether it did.
func (l *Log) tell(e *observe.Event, stage auditinternal.Stage) bool {
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
	defer e.Waited(observe.Auditing, e.Waiting(observe.Auditing))
	return l.write(*line, 1)
}

// isUnknown tells a caller of whom nothing was proven.
func isUnknown(caller user.Info) bool { return caller == nil || caller.GetName() == user.Anonymous }

// enqueue leaves a line to Run, if there is room.
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
	size := int64(cap(*line)) // what it holds while it waits
	if l.queued.Add(size) <= int64(mostBytes/share) && len(l.queue) < mostWaiting/share {
		select {
		case l.queue <- line:
			return true
		default:
		}
	}
	l.queued.Add(-size)
	recycle(line)
	l.counts.AuditErrors(buffered, 1)
	l.log.Error("audit events were dropped: they come faster than they are written")
	return false
}

// Waiting is how many lines wait to be written, and the bytes of memory that they take.
func (l *Log) Waiting() (lines int, bytes int64) { return len(l.queue), l.queued.Load() }

func recycle(line *[]byte) {
	if cap(*line) <= keepLine {
		lines.Put(line)
	}
}

// write writes lines.
func (l *Log) write(text []byte, events int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	began := time.Now()
	_, err := l.out.Write(text)
	if took := time.Since(began); took > slowWrite {
		l.log.Warn("the audit log is slow to write", zap.Duration("took", took), zap.Int("bytes", len(text)))
	}
	if err != nil {
		l.lost(events, err)
		return false
	}
	return true
}

// lost counts events that are not written, and says why.
func (l *Log) lost(events int, why error) {
	l.counts.AuditErrors(plugin, events)
	l.log.Error("audit events were not written", zap.Error(why))
}

// finishWithin is for how long the end waits for a disk that takes nothing.
const finishWithin = 10 * time.Second

// Run writes what waits until the context ends, and then what waits still. What is told after that is lost, which is
// counted and said. A disk that takes nothing does not keep the process from ending for longer than finishWithin: what
// it has not taken by then is lost.
func (l *Log) Run(ctx context.Context) {
	written := make(chan struct{})
	go func() { defer close(written); l.writeAll(ctx) }()
	<-ctx.Done()
	late := time.NewTimer(finishWithin)
	defer late.Stop()
	select {
	case <-written:
	case <-late.C:
		lines, _ := l.Waiting()
		l.counts.AuditErrors(plugin, lines)
		l.log.Error("the audit log is not written to its end: the disk takes nothing", zap.Int("lines", lines))
	}
}

// writeAll writes what waits until the context ends, and what waits then.
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
	l.open.Lock() // whoever has found it open has put his line into the queue
	l.over = true
	l.open.Unlock()
	for len(l.queue) > 0 {
		batch = l.writeBatch(batch[:0], <-l.queue)
	}
}

// writeBatch writes a line with those that wait behind it.
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
		l.log.Error("the audit log was not closed", zap.Error(err))
	}
	l.out = ended{}
}

// ended is what is written to when the log is closed.
type ended struct{}

// Write implements io.Writer.
func (ended) Write([]byte) (int, error) { return 0, errEnded }

// Close implements io.Closer.
func (ended) Close() error { return nil }
