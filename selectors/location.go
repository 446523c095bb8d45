package selectors

// Spread says how the values of a field are distributed over the objects of a kind. It only affects how much memory the
// values take.
type Spread int

const (
	// Own is for fields whose values mostly differ between objects, and for fields of unknown distribution.
	Own Spread = iota
	// OfTemplate is for fields that are mostly equal in objects with the same labels, such as the pods of a ReplicaSet.
	OfTemplate
	// OfPlacement is for fields whose values recur in many objects, but independently of their labels, such as a node's
	// name.
	OfPlacement
)

// Location is where Attributes store the value of a field. The zero Location is for field labels that kube-apiserver
// accepts but that never have a value, such as a Pod's status.podIPs.
type Location struct {
	part     part
	position int
}

type part int

const (
	nowhere part = iota
	ofName
	ofNamespace
	ofOwn
	ofTemplate
	ofPlacement
)

var partOf = [...]part{Own: ofOwn, OfTemplate: ofTemplate, OfPlacement: ofPlacement}

// Location returns where Attributes store the value of a field with a canonical label.
func (k *Kind) Location(label string) Location {
	switch label {
	case nameLabel:
		return Location{part: ofName}
	case namespaceLabel:
		return Location{part: ofNamespace}
	}
	var before [len(partOf)]int // number of earlier fields, by Spread
	for i := range k.fields {
		spread := k.fields[i].Spread
		if k.fields[i].Label == label {
			return Location{partOf[spread], before[spread]}
		}
		before[spread]++
	}
	return Location{}
}
