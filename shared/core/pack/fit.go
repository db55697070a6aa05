package pack

// Fit judges single pods against single nodes that exist, by the rules Plan places pods by.
type Fit struct{ in Input }

// NewFit prepares the input's nodes. Pending pods take nothing of any node.
func NewFit(in Input) *Fit { return &Fit{in: in} }

// Check returns the code of every rule that keeps pod i of the snapshot off the named node, sorted; empty where it fits.
func (f *Fit) Check(pod int, node string) []string {
	panic("not built")
}
