package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/bench/internal/proc"
	"github.com/listfacade/listfacade/bench/internal/report"
)

const (
	floodUsers     = 8
	floodInformers = 25                     // for each user
	floodRounds    = 3                      // of one quiet and one flooded phase each
	floodFor       = 10 * time.Second       // duration of a phase
	floodEvery     = 100 * time.Millisecond // interval between two changes
	floodObjects   = 50
	floodNamespace = "bench-flood"
	floodStamp     = "sent" // key of the time of a change in the object's data
)

// Phases. Quiet and flood alternate, so that a change in the machine's other load affects both.
const (
	quietPhase   = "quiet"
	floodedPhase = "flooded"
	afterwards   = "afterwards"
)

// floodRun is a facade under flood with its informers, and a few informers on kube-apiserver as the control group. The
// control group is not affected by the flood, so its additional delay measures the load of the machine.
type floodRun struct {
	stage   *stage
	admin   kubernetes.Interface
	running *facade
	flooder *server // the facade, with the credentials of the flooding user
	many    *audience
	control *audience
	spent   map[string]expense // by phase
	answers []codes            // responses to the flood, in the order of floodWays
}

// expense is the cost of one phase.
type expense struct {
	facade, direct, flood time.Duration // processor time
	memory                proc.Memory   // of the facade
}

// measureFlood adds the delays of well-behaved informers before, while and after one user floods the facade. It also
// adds the responses to the flood and the facade's memory.
func measureFlood(ctx context.Context, s *stage, t *table) error {
	b := &floodRun{stage: s, spent: map[string]expense{}, answers: make([]codes, len(floodWays()))}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	var err error
	if b.running, err = s.withDefaults(ctx, "--preload", "pods"); err != nil {
		return err
	}
	defer b.running.stop()
	user, err := certificate(s.cluster, "bench-flooder", readers)
	if err != nil {
		return err
	}
	if b.flooder, err = b.running.server.as(rest.Config{TLSClientConfig: user}); err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	b.many = &audience{server: b.running.server, users: floodUsers, informers: floodInformers}
	b.control = &audience{server: s.direct, users: floodUsers, informers: 1}
	if err := errors.Join(b.many.attend(watching, s.cluster), b.control.attend(watching, s.cluster)); err != nil {
		return err
	}
	for range floodRounds {
		if err := errors.Join(b.listen(ctx, quietPhase), b.listen(ctx, floodedPhase)); err != nil {
			return err
		}
	}
	if err := b.listen(ctx, afterwards); err != nil {
		return err
	}
	t.addFlood(b)
	return nil
}

// prepare creates the objects that the informers watch.
func (b *floodRun) prepare(ctx context.Context) (err error) {
	if b.admin, err = administrator(b.stage.cluster); err != nil {
		return err
	}
	if err := admit(ctx, b.admin); err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: floodNamespace}}
	if _, err := b.admin.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		return err
	}
	for i := range floodObjects {
		if err := b.putStamp(ctx, i, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}

// putStamp writes a timestamp into an object. With the zero time it creates the object.
func (b *floodRun) putStamp(ctx context.Context, i int, at time.Time) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("object-%02d", i)},
		Data: map[string]string{"text": strings.Repeat("x", 1000)}}
	var err error
	if at.IsZero() {
		_, err = b.admin.CoreV1().ConfigMaps(floodNamespace).Create(ctx, object, metav1.CreateOptions{})
	} else {
		object.Data[floodStamp] = strconv.FormatInt(at.UnixNano(), 10)
		_, err = b.admin.CoreV1().ConfigMaps(floodNamespace).Update(ctx, object, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write a watched object: %w", err)
	}
	return nil
}

// listen runs a phase once, and adds its cost to that of earlier runs of the phase.
func (b *floodRun) listen(ctx context.Context, phase string) (err error) {
	say("informers, %s", phase)
	if err := b.running.server.process.ResetPeak(); err != nil {
		return err
	}
	b.many.enter(phase)
	b.control.enter(phase)
	var f *flood
	if phase == floodedPhase {
		if f, err = startFlood(ctx, b.flooder); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.stop(b.answers)) }()
	}
	before, err := b.expense(nil)
	if err != nil {
		return err
	}
	if err := b.change(ctx); err != nil {
		return err
	}
	after, err := b.expense(f)
	b.spent[phase] = b.spent[phase].plus(before, after)
	return err
}

// plus returns the sum of an expense and the difference of two readings. Its memory is that of the later reading, with
// the highest peak.
func (e expense) plus(from, to expense) expense {
	to.memory.Peak = max(to.memory.Peak, e.memory.Peak)
	return expense{
		facade: e.facade + to.facade - from.facade, direct: e.direct + to.direct - from.direct, flood: e.flood + to.flood,
		memory: to.memory,
	}
}

// expense returns the processor times so far, and the facade's memory. f is nil if there is no flood.
func (b *floodRun) expense(f *flood) (e expense, err error) {
	errs := make([]error, 4)
	e.facade, errs[0] = b.running.server.process.CPU()
	e.direct, errs[1] = b.stage.direct.process.CPU()
	e.memory, errs[2] = b.running.server.process.Memory()
	if f != nil {
		e.flood, errs[3] = f.process().CPU()
	}
	return e, errors.Join(errs...)
}

// change changes one object after the other for floodFor, and returns when all informers have received all changes.
func (b *floodRun) change(ctx context.Context) error {
	tick := time.NewTicker(floodEvery)
	defer tick.Stop()
	n := int(floodFor / floodEvery)
	for i := range n {
		<-tick.C
		if err := b.putStamp(ctx, i%floodObjects, time.Now()); err != nil {
			return err
		}
	}
	for began := time.Now(); ; <-tick.C {
		err := errors.Join(b.many.missing(n), b.control.missing(n))
		if err == nil || time.Since(began) > arriveWithin {
			return err
		}
	}
}

func (t *table) addFlood(b *floodRun) {
	phases := []string{quietPhase, floodedPhase, afterwards}
	const delay = "UPDATE sent until the informer has the change, p50 / p90 / p99 / maximum"
	for _, a := range []*audience{b.many, b.control} {
		for _, phase := range phases {
			received := a.received(phase)
			left, right := "", percentiles(received)
			if a == b.control {
				left, right = right, left
			}
			t.add(fmt.Sprintf("%d informers of %d users, %s: %s of %d", a.size(), a.users, phase, delay, len(received)), left,
				right, "")
		}
	}
	for _, phase := range phases {
		t.add(phase+": delay beyond the median at kube-apiserver, p50 / p90 / p99 / maximum", "",
			percentiles(b.many.later(phase, b.control)), "")
	}
	for i, way := range floodWays() {
		t.add("the flooder's "+way.what+": answers", "", b.answers[i].String(), "")
	}
	for _, phase := range phases {
		e := b.spent[phase]
		t.add("processor time, "+phase, report.Duration(e.direct), report.Duration(e.facade), "")
	}
	t.add("processor time of the flooding process, at niceness "+floodNice, "",
		report.Duration(b.spent[floodedPhase].flood), "")
	for _, phase := range phases {
		e := b.spent[phase].memory
		t.add("resident memory, "+phase+": at the end / peak", "",
			report.Size(e.Resident)+" / "+report.Size(e.Peak), "")
	}
}
