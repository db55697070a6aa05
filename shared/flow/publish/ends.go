package publish

import (
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// ends gathers Nodes and NodeClaims of ours that somebody deletes, so that whoever empties them learns of it once for
// all of a moment. What is reported needs no published state: it is looked at live.
type ends struct {
	going map[string]string // UIDs of what is being deleted, by kind and name
	batch batch             // open where somebody is to learn of it
	hint  *wire.Hint        // as sent last and not taken, kept so that a repetition is the same; nil = to be made
	pause pause
}

// ending returns the key under which an object that is being deleted is reported, and its UID; an empty UID where it is
// not being deleted, or nobody is to learn of it. Empty where the change is of another kind.
//
// A node that carries the taint of a drain is known to those who would learn of it: it is they who deleted it.
func ending(c *wire.Change) (key, uid string) {
	switch {
	case c.Node != nil:
		key = "Node/" + c.Node.Name
		if !c.Deleted && c.Node.DeletedUnix != 0 && (c.Node.Pool() != "" || c.Node.Finalizer) && !drained(c.Node) {
			uid = c.Node.UID
		}
	case c.Claim != nil:
		key = "NodeClaim/" + c.Claim.Name
		if !c.Deleted && c.Claim.DeletedUnix != 0 {
			uid = c.Claim.UID
		}
	}
	return key, uid
}

func drained(node *model.Node) bool {
	for _, t := range node.Taints {
		if t.Key == model.TaintDisrupted {
			return true
		}
	}
	return false
}
