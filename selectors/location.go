package selectors

// Spread says how the values of a field are spread over the objects of a kind. It decides how much memory they take,
// and nothing else.
type Spread int

const (
	// Own is of fields whose values differ from object to object, or are not known to be alike.
	Own Spread = iota
	// OfTemplate is of fields that objects with the same labels, made from one template, mostly have the same.
	OfTemplate
	// OfPlacement is of fields whose values recur in many objects, but not with their labels: the name of a node.
	OfPlacement
)

// Location is where the Attributes of a kind hold the value of a field. The zero Location is of labels that are
// accepted and never set, like a Pod's status.podIPs.
type Location struct {
	part     part
	position int
}

// part is what a Location is a place in.
type part int

const (
	nowhere part = iota
	ofName
	ofNamespace
	ofOwn
	ofTemplate
	ofPlacement
)

// partOf is read-only.
var partOf = [...]part{Own: ofOwn, OfTemplate: ofTemplate, OfPlacement: ofPlacement}

// Location finds where Attributes hold the value of a field by its canonical label.
func (k *Kind) Location(label string) Location {
	switch label {
	case nameLabel:
		return Location{part: ofName}
	case namespaceLabel:
		return Location{part: ofNamespace}
	}
	var before [len(partOf)]int // fields of each spread
	for i := range k.fields {
		spread := k.fields[i].Spread
		if k.fields[i].Label == label {
			return Location{partOf[spread], before[spread]}
		}
		before[spread]++
	}
	return Location{}
}
