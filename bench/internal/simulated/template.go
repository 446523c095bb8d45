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

// StampKey is the annotation of every pod with the time of its last change, in nanoseconds since 1970; 0 before the
// first change.
const StampKey = "bench.listfacade.dev/sent"

// Placeholder values of the template's pod. spotsOf searches an encoding of the pod for these values.
const (
	versionMark = "7700000000077"
	stampMark   = "8800000000000000088"
)

// part is the kind of a value that differs between pods.
type part int

const (
	partName part = iota
	partUID
	partVersion
	partStamp
	partNode
	partIP
	partHostIP
	partVolume    // five letters in the name of the service account token's volume
	partLink      // eight digits in the name of a network interface
	partContainer // ID of one of the containers
	partTime      // a time; all times of a pod are shifted by the same amount
	partSeconds   // a time in protobuf, as a number of seconds
	partBegin     // beginning of a protobuf field, where the length of the field is
	partEnd       // end of a protobuf field
)

// hole describes the value at one position of a form, which differs between pods.
type hole struct {
	part   part
	number int   // of the container
	moment int64 // time in the template's pod, in seconds since 1970
}

// piece is a constant text, followed by a hole.
type piece struct {
	text []byte
	hole hole
}

// form is an encoding of an application's pods: constant texts, with holes for the values that differ.
type form struct {
	pieces []piece
	tail   []byte
}

// template is the common part of an application's pods.
type template struct {
	namespace string
	prefix    string // of the pods' names
	restarts  int32
	created   int64 // in seconds since 1970, like hole.moment
	restarted int64
	json      form
	protobuf  form
}

// spot is the position of a value in the encoding of the template's pod.
type spot struct {
	from, to int
	hole     hole
}

var (
	containerPattern = regexp.MustCompile(`containerd://([0-9a-f]{64})`)
	timePattern      = regexp.MustCompile(`"(20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)"`)
	linkPattern      = regexp.MustCompile(`link\\?":\\?"veth([0-9a-f]{8})`) // in JSON, the quotation marks are escaped
)

// restartedAt is an annotation with the same time in all pods of an application.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// newTemplate creates a template from one pod.
func newTemplate(pod *corev1.Pod, known messages) (*template, error) {
	pod.ResourceVersion = versionMark
	pod.Annotations[StampKey] = stampMark
	t := &template{namespace: pod.Namespace, prefix: pod.GenerateName, created: pod.CreationTimestamp.Unix()}
	for _, c := range pod.Status.ContainerStatuses {
		t.restarts += c.RestartCount
		if last := c.LastTerminationState.Terminated; last != nil {
			t.restarted = last.FinishedAt.Unix()
		}
	}
	var err error
	if t.json, err = jsonForm(pod); err != nil {
		return nil, err
	}
	t.protobuf, err = protobufForm(pod, known)
	return t, err
}

// jsonForm makes the form of an application's pods in JSON from one of them. The form omits kind and apiVersion.
func jsonForm(pod *corev1.Pod) (form, error) {
	text, err := json.Marshal(pod)
	if err != nil {
		return form{}, fmt.Errorf("encode a pod: %w", err)
	}
	text, found := bytes.CutPrefix(text, []byte(typeMeta))
	if !found {
		return form{}, fmt.Errorf("a pod's JSON does not begin with %s", typeMeta)
	}
	times, err := timesOf(pod, text)
	if err != nil {
		return form{}, err
	}
	return cut(text, append(spotsOf(pod, text), times...))
}

// spotsOf finds, in an encoding of a pod, the values that differ between pods, except times.
func spotsOf(pod *corev1.Pod, text []byte) []spot {
	var spots []spot
	for value, part := range map[string]part{
		pod.Name: partName, string(pod.UID): partUID, versionMark: partVersion, stampMark: partStamp,
		pod.Spec.NodeName: partNode,
		pod.Status.PodIP:  partIP, pod.Status.HostIP: partHostIP, volumeSuffix(pod): partVolume,
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
	found := containerPattern.FindAllSubmatchIndex(text, -1)
	var ids []string // sorted, because encodings have different orders
	for _, at := range found {
		ids = append(ids, string(text[at[2]:at[3]]))
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, at := range found {
		number, _ := slices.BinarySearch(ids, string(text[at[2]:at[3]]))
		spots = append(spots, spot{from: at[2], to: at[3], hole: hole{part: partContainer, number: number}})
	}
	for _, at := range linkPattern.FindAllSubmatchIndex(text, -1) {
		spots = append(spots, spot{from: at[2], to: at[3], hole: hole{part: partLink}})
	}
	return spots
}

// timesOf finds the times in JSON.
func timesOf(pod *corev1.Pod, text []byte) ([]spot, error) {
	var spots []spot
	for _, at := range timePattern.FindAllSubmatchIndex(text, -1) {
		value := string(text[at[2]:at[3]])
		if value == pod.Annotations[restartedAt] {
			continue
		}
		moment, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return nil, fmt.Errorf("parse a time of a pod: %w", err)
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

// cut splits the text at the spots.
func cut(text []byte, spots []spot) (form, error) {
	slices.SortFunc(spots, func(a, b spot) int { return a.from - b.from })
	f, at := form{}, 0
	for _, s := range spots {
		if s.from < at {
			return form{}, fmt.Errorf("two values of a pod overlap at %q", text[s.from:s.to])
		}
		f.pieces = append(f.pieces, piece{text: text[at:s.from], hole: s.hole})
		at = s.to
	}
	f.tail = text[at:]
	return f, nil
}

// templatesOf returns the templates of a data set's applications, sorted by namespace and name prefix.
func templatesOf(spec dataset.Spec) ([]*template, error) {
	all, known := make([]*template, spec.Applications), messages{}
	for i := range all {
		var err error
		if all[i], err = newTemplate(spec.Example(i), known); err != nil {
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
