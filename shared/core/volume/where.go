package volume

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// affinity returns where a bound volume may be used: where one of its terms holds. Like kube-scheduler it passes over
// terms that cannot be read or ask for nothing, and does not look at their fields, which name nodes.
func (x *Index) affinity(terms []model.NodeTerm) *place {
	x.scratch = sign(x.scratch[:0], terms)
	if known := x.terms[string(x.scratch)]; known != nil {
		return known
	}
	out := placeOf(terms, func(term *model.NodeTerm) bool {
		return slices.ContainsFunc(term.Fields, func(f model.Requirement) bool {
			return len(f.Values) != 1 || f.Operator != model.In && f.Operator != model.NotIn
		}) || slices.ContainsFunc(term.Requirements, func(r model.Requirement) bool { return !nodeOperator(r) })
	})
	x.terms[string(x.scratch)] = out
	return out
}

// where returns where the claim lets its pod run, host names as they are written.
func (x *Index) where(c *claim) (*place, *Problem) {
	if problem := x.problem(c); problem != nil {
		return nil, problem
	}
	var out *place
	source, remedy := "is bound to the volume ", "correct the volume's node affinity"
	if c.bound() {
		out = x.affinity(c.volume.Affinity)
		source += c.volume.VolumeName
	} else {
		out = x.classes[x.className(c)].where
		source, remedy = "is of the storage class "+x.className(c), "correct its allowedTopologies"
	}
	switch {
	case out.terms > maxTerms:
		return nil, c.complain("name fewer topologies", "%s, whose %d topologies are more than the %d that are evaluated", source, out.terms, maxTerms)
	case !out.anywhere && len(out.any) == 0:
		return nil, c.complain(remedy, "%s, whose topologies match no node", source)
	}
	return out, nil
}

// whereExisting returns where the claim lets its pod run among nodes that exist.
func (x *Index) whereExisting(c *claim) (*place, *Problem) {
	where, problem := x.where(c)
	if problem != nil || where.anywhere {
		return where, problem
	}
	return withoutHosts(where, func(hosts requirement.Set) (dropped, impossible bool) { return x.stranded(c, hosts), false }), nil
}

// whereNew returns where the claim lets its pod run among nodes yet to be made. Whatever name such a node gets, it is
// one that nothing was written about.
func (x *Index) whereNew(c *claim) (*place, *Problem) {
	where, problem := x.where(c)
	if problem != nil {
		return nil, problem
	}
	if x.driver(c) == autoDriver || where.auto {
		return nil, c.complain("use a storage class of the driver "+ebsDriver, "has a volume of %s, which only nodes of EKS Auto Mode can use", autoDriver)
	}
	if where.anywhere {
		return where, nil
	}
	out := withoutHosts(where, func(hosts requirement.Set) (dropped, impossible bool) {
		dropped = x.stranded(c, hosts) || hosts.Has(freshHost)
		return dropped, !dropped
	})
	if !out.anywhere && len(out.any) == 0 {
		return nil, c.complain("free capacity on that node, or delete the claim", "has its volume on one node (%s), and no other can use it", text(where.any))
	}
	return out, nil
}

// freshHost stands for the name of a node yet to be made: no label value looks like it.
const freshHost = "/"

// stranded reports whether a local volume is on nodes that are all gone.
func (x *Index) stranded(c *claim, hosts requirement.Set) bool {
	if !c.bound() || !c.volume.Local {
		return false
	}
	names, listed := hosts.Listed()
	return listed && len(names) > 0 && !slices.ContainsFunc(names, x.hostExists)
}
