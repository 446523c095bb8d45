package reflector

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/listfacade/listfacade/internal/journal"
)

// wantEnd stops the lanes and fails unless this takes as long as the wait for a disk that hangs.
func (r *rig) wantEnd(t *testing.T, hanging chan struct{}) {
	t.Helper()
	began := time.Now()
	r.stop()
	if took := time.Since(began); took != finishWait {
		t.Errorf("got the end after %v, want %v", took, finishWait)
	}
	if n := r.logs.FilterMessage("The disk of the journal does not respond; the last events may be missing").Len(); n != 1 {
		t.Errorf("got %d lines in the log, want 1", n)
	}
	close(hanging)
	synctest.Wait()
}

// TestHangingDiskDelaysTheEndOnlyBriefly: if the goroutine hangs after a write, the process ends without it.
func TestHangingDiskDelaysTheEndOnlyBriefly(t *testing.T) {
	whileRecording(t, nil, func(t *testing.T, r *rig, config Config) {
		hanging := make(chan struct{})
		r.lanes.recorder.log = r.lanes.log.WithOptions(zap.Hooks(func(e zapcore.Entry) error {
			if e.Message == "Failed to write the journal; will retry" {
				<-hanging
			}
			return nil
		}))
		lane := filepath.Join(config.Journal.Dir, "lanes", "configmaps..v1.json")
		if err := errors.Join(os.RemoveAll(lane), os.WriteFile(lane, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		r.isVersion("v1.38.0") // so that a new segment begins
		r.DropWatches()
		elapse(time.Minute)
		if r.failed.Load() != 1 {
			t.Errorf("got %d failed attempts, want 1", r.failed.Load())
		}
		r.wantEnd(t, hanging)
	})
}

// TestHangingDiskDelaysTheStartOnlyBriefly: if the journal cannot be opened, the process starts without it, and its
// lanes are listed.
func TestHangingDiskDelaysTheStartOnlyBriefly(t *testing.T) {
	inSecondProcess(t, func(t *testing.T, r *rig, config Config) {
		hanging, began := make(chan struct{}), time.Now()
		r.startOn(t, config, journalFiles{func(dir string) (*journal.Journal, error) {
			<-hanging
			return journal.Open(dir)
		}, journal.Segments})
		if took := time.Since(began); took != openWait {
			t.Errorf("got the start after %v, want %v", took, openWait)
		}
		r.synced(t)
		if _, configured := r.lanes.JournalStatus(); !configured || r.lanes.Journal() != nil {
			t.Errorf("got configured=%t, journal %v, want one that is not open", configured, r.lanes.Journal())
		}
		r.wantEnd(t, hanging)
	})
}

// TestEachReasonNotToOpenIsLogged: the log and the metric have each error for which the journal cannot be opened once,
// and the log says that the journal was opened.
func TestEachReasonNotToOpenIsLogged(t *testing.T) {
	inSecondProcess(t, func(t *testing.T, r *rig, config Config) {
		results := []error{journal.ErrLocked, journal.ErrAccess, nil}
		var at atomic.Int64
		before := r.failed.Load()
		r.startOn(t, config, journalFiles{func(dir string) (*journal.Journal, error) {
			if err := results[at.Load()]; err != nil {
				return nil, err
			}
			return journal.Open(dir)
		}, journal.Segments})
		for i, err := range results {
			at.Store(int64(i))
			elapse(time.Minute)
			failures, opened := int(r.failed.Load()-before), r.logs.FilterMessage("Journal opened after failed attempts").Len()
			want, wantOpened := i+1, 0
			if err == nil {
				want, wantOpened = i, 1
			}
			if failures != want || opened != wantOpened || err != nil && !r.logged(err.Error()) {
				t.Errorf("%v: got %d failures, log %v, want %d", err, failures, r.logs.All(), want)
			}
		}
	})
}

// TestHangingDiskDelaysALaneOnlyBriefly: if the search for a lane's segments hangs, the lane is listed.
func TestHangingDiskDelaysALaneOnlyBriefly(t *testing.T) {
	inSecondProcess(t, func(t *testing.T, r *rig, config Config) {
		hanging, began := make(chan struct{}), time.Now()
		r.startOn(t, config, journalFiles{journal.Open, func(string, string) ([]journal.Segment, error) {
			<-hanging
			return nil, nil
		}})
		r.synced(t)
		if took := time.Since(began); took < findWait || took > 2*findWait || !r.logged(errStuck.Error()) {
			t.Errorf("got the lane after %v, log %v, want it after %v", took, r.logs.All(), findWait)
		}
		close(hanging)
		synctest.Wait()
	})
}

// startOn is like start, on a disk that hangs.
func (r *rig) startOn(t *testing.T, config Config, files journalFiles) {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	r.logs, r.lanes = logs, NewLanes(r.client, config, r, zap.New(core))
	r.lanes.recorder.files = files
	r.run(t)
}

// TestLateVisitEndsNoRecording: a visit that is due when the process ends finds no lanes, because they were handed
// over. Their recordings continue to the last visit.
func TestLateVisitEndsNoRecording(t *testing.T) {
	whileRecording(t, nil, func(t *testing.T, r *rig, config Config) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		all := r.lanes.reflectors
		r.lanes.reflectors = nil
		r.lanes.recorder.write(ended, time.Now())
		r.lanes.reflectors = all
		r.Put("ns/b", "1")
		synctest.Wait()
		r.stop()
		wantWritten(t, config, "-- 2", "has ns/a@2", "upsert ns/b@3")
	})
}
