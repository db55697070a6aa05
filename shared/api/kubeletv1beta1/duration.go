package kubeletv1beta1

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TimeOrMetaDuration is a duration as text ("5s") or as a number of nanoseconds.
type TimeOrMetaDuration struct{ time.Duration }

// UnmarshalJSON reads either.
func (d *TimeOrMetaDuration) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '"' {
		return json.Unmarshal(data, &d.Duration)
	}
	var text metav1.Duration
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	d.Duration = text.Duration
	return nil
}
