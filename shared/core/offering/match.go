package offering

import (
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/shared/model"
)

// meets reports whether a label meets one requirement; absence is present = false. An operator or bound that cannot be
// read is met by nothing. This asks about a value that is known; sets of values are core/requirement's.
func meets(r model.Requirement, value string, present bool) bool {
	switch r.Operator {
	case model.In:
		return present && slices.Contains(r.Values, value)
	case model.NotIn:
		return !present || !slices.Contains(r.Values, value)
	case model.Exists:
		return present
	case model.DoesNotExist:
		return !present
	}
	if len(r.Values) != 1 {
		return false
	}
	bound, err := strconv.ParseInt(r.Values[0], 10, 64)
	n, errValue := strconv.ParseInt(value, 10, 64)
	if !present || err != nil || errValue != nil {
		return false
	}
	switch r.Operator {
	case model.Gt:
		return n > bound
	case model.Gte:
		return n >= bound
	case model.Lt:
		return n < bound
	case model.Lte:
		return n <= bound
	}
	return false
}

// valuesMeeting returns the values a label of the type may have that meet every requirement on its key.
func valuesMeeting(t *model.InstanceType, key string, requirements []model.Requirement) []string {
	var values []string
	for _, value := range t.Labels[key] {
		all := true
		for _, r := range requirements {
			all = all && (r.Key != key || meets(r, value, true))
		}
		if all {
			values = append(values, value)
		}
	}
	return values
}

// DecidedByOffering reports whether a label's value comes from the offering and not from the type.
func DecidedByOffering(key string) bool { return slices.Contains(decided, key) }

// ReservationType is the value of a reserved instance's reservation type label.
func ReservationType(block bool) string {
	if block {
		return "capacity-block"
	}
	return "default"
}

// offeringMeets reports whether a node bought by the offering meets every requirement on what the offering decides.
func offeringMeets(o *model.Offering, requirements []model.Requirement) bool {
	for _, r := range requirements {
		if !DecidedByOffering(r.Key) {
			continue
		}
		if value := ValueOf(o, r.Key); !meets(r, value, value != "") {
			return false
		}
	}
	return true
}

// typeMeets reports whether the type meets every requirement on labels it decides itself. Labels it knows nothing of are
// the pool's and no concern here.
func typeMeets(t *model.InstanceType, requirements []model.Requirement) bool {
	for _, r := range requirements {
		if _, known := t.Labels[r.Key]; known && !DecidedByOffering(r.Key) && len(valuesMeeting(t, r.Key, requirements)) == 0 {
			return false
		}
	}
	return true
}
