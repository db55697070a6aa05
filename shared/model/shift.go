package model

// ReasonZonalShift is why offerings of a zone are unavailable that a cluster is shifted away from.
const ReasonZonalShift = "ZonalShift"

// ZonalShift says that a cluster is to make no use of a zone for some time. People start a zonal shift, AWS an
// autoshift.
type ZonalShift struct {
	ZoneID    string `json:"zoneID"`         // the same in every account, such as usw2-az1
	Auto      bool   `json:"auto,omitempty"` // AWS started it, and says when it ends once it does
	SinceUnix int64  `json:"since,omitempty"`
	UntilUnix int64  `json:"until"` // it is over then, unless it was seen again before
}

// Name says of which kind it is.
func (s *ZonalShift) Name() string {
	if s.Auto {
		return "zonal autoshift"
	}
	return "zonal shift"
}

// Shifts reports whether it closes the zone of a node for a zonal shift.
func (m *UnavailableOffering) Shifts(node *Node) bool {
	return m.ZoneID != "" && (m.ZoneID == node.Labels[LabelZoneID] || m.ZoneID == node.Labels[LabelZone])
}

// ZonalShifts is what ARC was last heard to say of a cluster.
type ZonalShifts struct {
	Version int64        `json:"version"`           // bumped by every write; writers condition on it; 0 = never written
	Managed bool         `json:"managed,omitempty"` // the cluster has zonal shifts enabled
	Shifts  []ZonalShift `json:"shifts,omitempty"`  // in force, by zone
}

// Unavailable returns what is closed at nowUnix, one for each zone.
func (z *ZonalShifts) Unavailable(nowUnix int64) []UnavailableOffering {
	var out []UnavailableOffering
	for _, shift := range z.Shifts {
		if shift.UntilUnix > nowUnix {
			out = append(out, UnavailableOffering{
				ZoneID: shift.ZoneID, Reason: ReasonZonalShift, AtUnix: shift.SinceUnix, UntilUnix: shift.UntilUnix,
			})
		}
	}
	return out
}
