package lifecycle

// Drifted evaluates one claim. An error means that something needed is not known: then nothing is concluded, in either
// direction. A part of the class that could not be looked up, or finds nothing, is such an error and no drift.
func Drifted(v DriftView) (Drift, error) {
	if v.Pool == nil || v.Class == nil || v.Class.DeletedUnix != 0 {
		return Drift{}, nil
	}
	resolved := v.Class.Status.ObservedGeneration == v.Class.Generation
	if d := DriftedByPool(v); d.Reason != "" {
		return d, nil
	}
	if d := typeDrift(v); resolved && d.Reason != "" {
		return d, nil
	}
	if d := classHashDrift(v); d.Reason != "" {
		return d, nil
	}
	if !resolved {
		return Drift{}, unknown("EC2NodeClass %s is not resolved at generation %d", v.Class.Name, v.Class.Generation)
	}
	for _, evaluate := range []func(DriftView) (Drift, error){imageDrift, groupsDrift, subnetDrift, reservationDrift, placementDrift} {
		if d, err := evaluate(v); err != nil || d.Reason != "" {
			return d, err
		}
	}
	return Drift{}, nil
}

// DriftedByPool evaluates a claim by its NodePool alone, which takes no look at the instance: what comes first of what
// Drifted finds. Without a pool it is the zero value.
func DriftedByPool(v DriftView) Drift {
	if v.Pool == nil {
		return Drift{}
	}
	if d := poolHashDrift(v); d.Reason != "" {
		return d
	}
	return requirementsDrift(v)
}

// OfPool reports whether a reason of drift is one that DriftedByPool finds.
func OfPool(reason string) bool { return reason == PoolDrifted || reason == RequirementsDrifted }
