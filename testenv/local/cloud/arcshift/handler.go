package arcshift

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Handler serves a Model on the wire protocol of ARC's zonal shifts.
type Handler struct{ *wire.RESTJSON }

// NewHandler serves m.
func NewHandler(m *Model) *Handler {
	h := &Handler{wire.NewRESTJSON(&m.mu)}
	h.Handle("ListManagedResources", "GET /managedresources", m.list)
	h.Handle("GetManagedResource", "GET /managedresources/{resourceIdentifier}", m.get)
	h.Handle("StartZonalShift", "POST /zonalshifts", m.startShift)
	h.Handle("CancelZonalShift", "DELETE /zonalshifts/{zonalShiftId}", m.cancelShift)
	return h
}

type resourceView struct {
	ARN            string             `json:"arn"`
	Name           string             `json:"name"`
	AppliedWeights map[string]float64 `json:"appliedWeights"`
	ZonalShifts    []shiftView        `json:"zonalShifts"`
	Autoshifts     []autoshiftView    `json:"autoshifts"`
	Zones          []string           `json:"availabilityZones,omitempty"` // of lists alone
	Status         string             `json:"zonalAutoshiftStatus"`
}

type shiftView struct {
	AppliedStatus      string     `json:"appliedStatus"`
	AwayFrom           string     `json:"awayFrom"`
	Comment            string     `json:"comment"`
	ExpiryTime         wire.Epoch `json:"expiryTime"`
	ResourceIdentifier string     `json:"resourceIdentifier"`
	StartTime          wire.Epoch `json:"startTime"`
	ID                 string     `json:"zonalShiftId"`
}

type autoshiftView struct {
	AppliedStatus string     `json:"appliedStatus"`
	AwayFrom      string     `json:"awayFrom"`
	StartTime     wire.Epoch `json:"startTime"`
}

func (m *Model) view(arn string) resourceView {
	out := resourceView{
		ARN: arn, Name: arn[strings.LastIndexByte(arn, '/')+1:], AppliedWeights: map[string]float64{},
		ZonalShifts: []shiftView{},
		Autoshifts:  []autoshiftView{}, Status: "DISABLED",
	}
	for i, s := range m.activeOf(arn) {
		applied := "NOT_APPLIED"
		if i == 0 {
			applied, out.AppliedWeights[s.zone] = "APPLIED", 0
		}
		if s.auto {
			out.Autoshifts, out.Status = append(out.Autoshifts, autoshiftView{applied, s.zone,
				wire.Epoch{Time: s.start}}), "ENABLED"
		} else {
			out.ZonalShifts = append(out.ZonalShifts, shiftView{applied, s.zone, s.comment, wire.Epoch{Time: s.expiry},
				arn, wire.Epoch{Time: s.start}, s.id})
		}
	}
	return out
}

func (m *Model) list(*http.Request) (any, error) {
	out := struct {
		Items []resourceView `json:"items"`
	}{[]resourceView{}}
	for _, arn := range m.resources {
		view := m.view(arn)
		view.Zones = []string{}
		out.Items = append(out.Items, view)
	}
	return out, nil
}

func (m *Model) get(r *http.Request) (any, error) {
	arn := r.PathValue("resourceIdentifier")
	if !slices.Contains(m.resources, arn) {
		return nil, notFound(arn)
	}
	return m.view(arn), nil
}

type zonalShiftView struct {
	AwayFrom           string     `json:"awayFrom"`
	Comment            string     `json:"comment"`
	ExpiryTime         wire.Epoch `json:"expiryTime"`
	ResourceIdentifier string     `json:"resourceIdentifier"`
	StartTime          wire.Epoch `json:"startTime"`
	Status             string     `json:"status"`
	ID                 string     `json:"zonalShiftId"`
}

func (s *shift) view(status string) zonalShiftView {
	return zonalShiftView{s.zone, s.comment, wire.Epoch{Time: s.expiry}, s.arn, wire.Epoch{Time: s.start}, status, s.id}
}

func (m *Model) startShift(r *http.Request) (any, error) {
	var in struct {
		AwayFrom           string `json:"awayFrom"`
		Comment            string `json:"comment"`
		ExpiresIn          string `json:"expiresIn"`
		ResourceIdentifier string `json:"resourceIdentifier"`
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return nil, invalid("request document: %v", err)
	}
	length, err := time.ParseDuration(in.ExpiresIn)
	switch {
	case !expiresIn.MatchString(in.ExpiresIn) || err != nil || length > longest:
		return nil, invalid("expiresIn %q: want minutes (m) or hours (h), at most 72 hours", in.ExpiresIn)
	case !zoneID.MatchString(in.AwayFrom):
		return nil, invalid("awayFrom %q is no Availability Zone ID", in.AwayFrom)
	case !slices.Contains(m.resources, in.ResourceIdentifier):
		return nil, notFound(in.ResourceIdentifier)
	}
	for _, s := range m.activeOf(in.ResourceIdentifier) {
		if !s.auto {
			return nil, wire.StatusErrorf(http.StatusConflict, "ConflictException",
				"A zonal shift of the resource is active already.")
		}
	}
	s := m.start(in.ResourceIdentifier, in.AwayFrom, in.Comment, m.options.Clock.Now().Add(length))
	go m.announce("Manual Shift Started", s.arn)
	return s.view("ACTIVE"), nil
}

func (m *Model) cancelShift(r *http.Request) (any, error) {
	for _, s := range m.shifts {
		if s.id != r.PathValue("zonalShiftId") || s.auto {
			continue
		}
		if !s.active(m.options.Clock.Now()) {
			return nil, wire.StatusErrorf(http.StatusConflict, "ConflictException", "The zonal shift is not active.")
		}
		s.canceled = true
		go m.announce("Manual Shift Canceled", s.arn)
		return s.view("CANCELED"), nil
	}
	return nil, notFound(r.PathValue("zonalShiftId"))
}
