package simulated

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/listfacade/listfacade/bench/internal/dataset"
)

// StampKey is the annotation of every pod that says when it changed last, in nanoseconds; 0 before it has.
const StampKey = "bench.listfacade.dev/sent"

// Values of the pod that a template is made of, which are found again in its text.
const (
	versionMark = "7700000000077"
	stampMark   = "8800000000000000088"
)

// part is what stands in a pod's text for the pod alone.
type part int

const (
	partName part = iota
	partUID
	partVersion
	partStamp
	partNode
	partIP
	partHostIP
	partVolume    // five letters of the name of the volume with the service account's token
	partLink      // eight digits of the name of a network interface
	partContainer // the id of a container, of which there are several
	partTime      // a moment, which is as much later in one pod than in another as all others are
)

// hole is one place of a template.
type hole struct {
	part   part
	number int   // of the container
	moment int64 // in the pod that the template is made of, in seconds
}

// piece is a text and the hole behind it.
type piece struct {
	text []byte
	hole hole
}

// template is the text of an application's pods.
type template struct {
	namespace string
	prefix    string // of the pods' names
	restarts  int32
	created   int64 // as hole.moment
	restarted int64
	pieces    []piece
	tail      []byte
}

// spot is where a value stands in the text.
type spot struct {
	from, to int
	hole     hole
}

var (
	containerPattern = regexp.MustCompile(`containerd://([0-9a-f]{64})`)
	timePattern      = regexp.MustCompile(`"(20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)"`)
	linkPattern      = regexp.MustCompile(`link\\":\\"veth([0-9a-f]{8})`)
)

// restartedAt is an annotation of the application's, whose time is the same in all of its pods.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// newTemplate makes a template of one pod.
func newTemplate(pod *corev1.Pod) (*template, error) {
	pod.ResourceVersion = versionMark
	pod.Annotations[StampKey] = stampMark
	text, err := json.Marshal(pod)
	if err != nil {
		return nil, fmt.Errorf("encode a pod: %w", err)
	}
	text, found := bytes.CutPrefix(text, []byte(typeMeta))
	if !found {
		return nil, fmt.Errorf("a pod begins otherwise than with %s", typeMeta)
	}
	t := &template{namespace: pod.Namespace, prefix: pod.GenerateName, created: pod.CreationTimestamp.Unix()}
	for _, c := range pod.Status.ContainerStatuses {
		t.restarts += c.RestartCount
		if last := c.LastTerminationState.Terminated; last != nil {
			t.restarted = last.FinishedAt.Unix()
		}
	}
	spots, err := spotsOf(pod, text)
	if err != nil {
		return nil, err
	}
	return t, t.cut(text, spots)
}

// spotsOf finds what is the pod's alone.
func spotsOf(pod *corev1.Pod, text []byte) ([]spot, error) {
	var spots []spot
	for value, part := range map[string]part{
		pod.Name: partName, string(pod.UID): partUID, versionMark: partVersion, stampMark: partStamp, pod.Spec.NodeName: partNode,
		pod.Status.PodIP: partIP, pod.Status.HostIP: partHostIP, volumeSuffix(pod): partVolume,
	} {
		for at := 0; value != ""; {
			next := bytes.Index(text[at:], []byte(value))
			if next < 0 {
				break
			}
			at += next + len(value)
			spots = append(spots, spot{from: at - len(value), to: at, hole: hole{part: part}})
		}
	}
	containers := map[string]int{}
	for _, at := range containerPattern.FindAllSubmatchIndex(text, -1) {
		id := string(text[at[2]:at[3]])
		if _, ok := containers[id]; !ok {
			containers[id] = len(containers)
		}
		spots = append(spots, spot{from: at[2], to: at[3], hole: hole{part: partContainer, number: containers[id]}})
	}
	for _, at := range linkPattern.FindAllSubmatchIndex(text, -1) {
		spots = append(spots, spot{from: at[2], to: at[3], hole: hole{part: partLink}})
	}
	for _, at := range timePattern.FindAllSubmatchIndex(text, -1) {
		value := string(text[at[2]:at[3]])
		if value == pod.Annotations[restartedAt] {
			continue
		}
		moment, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return nil, fmt.Errorf("read a time of a pod: %w", err)
		}
		spots = append(spots, spot{from: at[2], to: at[3], hole: hole{part: partTime, moment: moment.Unix()}})
	}
	return spots, nil
}

const volumePrefix = "kube-api-access-"

func volumeSuffix(pod *corev1.Pod) string {
	for _, v := range pod.Spec.Volumes {
		if strings.HasPrefix(v.Name, volumePrefix) {
			return strings.TrimPrefix(v.Name, volumePrefix)
		}
	}
	return ""
}

// cut takes the text apart.
func (t *template) cut(text []byte, spots []spot) error {
	slices.SortFunc(spots, func(a, b spot) int { return a.from - b.from })
	at := 0
	for _, s := range spots {
		if s.from < at {
			return fmt.Errorf("two values of a pod overlap at %q", text[s.from:s.to])
		}
		t.pieces = append(t.pieces, piece{text: text[at:s.from], hole: s.hole})
		at = s.to
	}
	t.tail = text[at:]
	return nil
}

// templatesOf are those of a data set's applications, by namespace and by their pods' names.
func templatesOf(spec dataset.Spec) ([]*template, error) {
	all := make([]*template, spec.Applications)
	for i := range all {
		var err error
		if all[i], err = newTemplate(spec.Example(i)); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b *template) int {
		if c := strings.Compare(a.namespace, b.namespace); c != 0 {
			return c
		}
		return strings.Compare(a.prefix, b.prefix)
	})
	return all, nil
}
