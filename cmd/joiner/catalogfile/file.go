package catalogfile

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// What a file is made of. Pointers tell what is absent from what is zero.
type (
	file struct {
		InstanceTypes []instanceType `json:"instanceTypes"`
	}
	instanceType struct {
		Name      string            `json:"name"`
		Capacity  map[string]amount `json:"capacity"`
		Overhead  map[string]amount `json:"overhead"`
		Labels    map[string]string `json:"labels"`
		Offerings []offered         `json:"offers"`

		ResourceSlices []resourceapi.ResourceSliceSpec `json:"resourceSlices"`
	}
	offered struct {
		Zone                string   `json:"zone"`
		CapacityType        string   `json:"capacityType"`
		PricePerHour        *float64 `json:"pricePerHour"`
		Available           *bool    `json:"available"`
		ReservationID       string   `json:"reservationId"`
		ReservationCapacity int64    `json:"reservationCapacity"`
	}
)

// amount is a quantity as written: "4", 4, "16Gi".
type amount string

// UnmarshalJSONFrom takes a string or a number, as Kubernetes does.
func (a *amount) UnmarshalJSONFrom(decoder *jsontext.Decoder) error {
	value, err := decoder.ReadToken()
	if err != nil {
		return err
	}
	if kind := value.Kind(); kind != '"' && kind != '0' {
		return errors.New("not a quantity; write one such as \"4\" or \"16Gi\"")
	}
	*a = amount(value.String())
	return nil
}

const (
	maxProblems   = 10
	maxPriceUSD   = 1e6 // per hour; above it a sum of prices might not fit
	microPerUnit  = 1e6
	defaultArch   = "amd64"
	defaultSystem = "linux"
)

// Read reads a catalog from a JSON file, compressed with gzip or not. What a type does not say of itself is filled in:
// its name as a label, architecture amd64, operating system linux, and an offering without a word is available. The error
// has one line for each of the first ten mistakes, with the path of the field.
func Read(path string) ([]model.InstanceType, error) {
	opened, err := os.Open(path)
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, fmt.Errorf("--catalog %s: %w", path, err)
	}
	defer opened.Close()
	text, err := read.Uncompressed(opened)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var written file
	if err := json.UnmarshalRead(text, &written, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, unreadable(err))
	}
	c := checker{path: path}
	types := c.types(&written)
	if c.problems != nil {
		return nil, errors.Join(c.problems...)
	}
	return types, nil
}

// unreadable says which field cannot be read.
func unreadable(err error) error {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return fmt.Errorf("not JSON: %w", err)
	}
	field := read.FieldPath(semantic.JSONPointer)
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("%s: no such field; see joiner plan provision --help for those there are", field)
	case semantic.Err != nil:
		return fmt.Errorf("%s: %w", field, semantic.Err)
	case semantic.GoType != nil:
		return fmt.Errorf("%s: a %s does not go here", field, semantic.JSONKind)
	}
	return err
}

// checker turns what is written into what is meant and keeps the mistakes.
type checker struct {
	path     string
	problems []error
}

func (c *checker) problem(field, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, fmt.Errorf("%s: %s: %s", c.path, field, fmt.Sprintf(format, args...)))
	}
}

func (c *checker) types(written *file) []model.InstanceType {
	if len(written.InstanceTypes) == 0 {
		c.problem("instanceTypes", "it has no instance type; list those that can be launched")
	}
	seen := map[string]int{}
	types := make([]model.InstanceType, 0, len(written.InstanceTypes))
	for i := range written.InstanceTypes {
		field := fmt.Sprintf("instanceTypes[%d]", i)
		t := &written.InstanceTypes[i]
		switch first, twice := seen[t.Name]; {
		case t.Name == "":
			c.problem(field+".name", "not set; name the instance type")
		case twice:
			c.problem(field+".name", "%q: instanceTypes[%d] has the same name; leave one of them out", t.Name, first)
		case len(validation.IsValidLabelValue(t.Name)) > 0:
			c.problem(field+".name", "%q: cannot be the value of a label, which nodes of the type have", t.Name)
		}
		seen[t.Name] = i
		types = append(types, c.instanceType(field, t))
	}
	slices.SortFunc(types, func(a, b model.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return types
}

func (c *checker) instanceType(field string, t *instanceType) model.InstanceType {
	out := model.InstanceType{
		Name:     t.Name,
		Capacity: c.amounts(field+".capacity", t.Capacity),
		Overhead: c.amounts(field+".overhead", t.Overhead),
		Labels:   c.labels(field+".labels", t),

		ResourceSlices: c.slices(field+".resourceSlices", t.ResourceSlices),
	}
	for _, name := range []string{model.CPU, model.Memory, model.Pods} {
		if out.Capacity[name] == 0 && t.Capacity[name] == "" {
			c.problem(field+".capacity."+name, "not set; set how much of it a node of the type has")
		}
	}
	if len(t.Offerings) == 0 {
		c.problem(field+".offers", "none; list the zones, capacity types and prices of %s", t.Name)
	}
	seen := map[[3]string]bool{}
	for i := range t.Offerings {
		at := fmt.Sprintf("%s.offers[%d]", field, i)
		o := c.offering(at, &t.Offerings[i])
		key := [3]string{o.Zone, o.CapacityType, o.ReservationID}
		if seen[key] {
			c.problem(at, "%s in %s occurs twice; leave one of them out", o.CapacityType, o.Zone)
		}
		seen[key] = true
		out.Offerings = append(out.Offerings, o)
	}
	slices.SortStableFunc(out.Offerings, func(a, b model.Offering) int {
		return strings.Compare(a.Zone+"\x00"+a.CapacityType+"\x00"+a.ReservationID, b.Zone+"\x00"+b.CapacityType+"\x00"+b.ReservationID)
	})
	addOffered(&out)
	return out
}

// amounts reads quantities; fractions of a unit are rounded up.
func (c *checker) amounts(field string, written map[string]amount) model.Resources {
	out := make(model.Resources, len(written))
	for _, name := range slices.Sorted(maps.Keys(written)) {
		value, err := resource.Parse(name, string(written[name]))
		switch {
		case err != nil:
			c.problem(fieldOf(field, name), "%v", err)
		case value < 0:
			c.problem(fieldOf(field, name), "%q: below zero; write what a node of the type has", written[name])
		case len(validation.IsQualifiedName(name)) > 0:
			c.problem(fieldOf(field, name), "not the name of a resource such as cpu or nvidia.com/gpu")
		}
		out[name] = value
	}
	return out
}

func (c *checker) labels(field string, t *instanceType) map[string][]string {
	out := map[string][]string{
		model.LabelInstanceType: {t.Name}, model.LabelArch: {defaultArch}, model.LabelOS: {defaultSystem},
	}
	for _, key := range slices.Sorted(maps.Keys(t.Labels)) {
		value := t.Labels[key]
		switch {
		case len(validation.IsQualifiedName(key)) > 0:
			c.problem(fieldOf(field, key), "not the key of a label")
		case len(validation.IsValidLabelValue(value)) > 0:
			c.problem(fieldOf(field, key), "%q: not the value of a label", value)
		case key == model.LabelInstanceType && value != t.Name:
			c.problem(fieldOf(field, key), "%q: is not the type's name; leave it out", value)
		case key == model.LabelZone || key == model.LabelCapacityType:
			continue // its offerings say
		}
		out[key] = []string{value}
	}
	return out
}

func (c *checker) offering(field string, o *offered) model.Offering {
	out := model.Offering{
		Zone: o.Zone, CapacityType: o.CapacityType, Available: o.Available == nil || *o.Available,
		ReservationID: o.ReservationID, ReservationCapacity: o.ReservationCapacity,
	}
	if o.Zone == "" || len(validation.IsValidLabelValue(o.Zone)) > 0 {
		c.problem(field+".zone", "%q: not a zone; write one such as us-west-2a", o.Zone)
	}
	switch o.CapacityType {
	case model.Spot, model.OnDemand:
		if o.ReservationID != "" || o.ReservationCapacity != 0 {
			c.problem(field+".capacityType", "%q: only reserved offerings have a reservation; leave it out or write reserved", o.CapacityType)
		}
	case model.Reserved:
		if o.ReservationID == "" {
			c.problem(field+".reservationId", "not set; a reserved offering names its reservation")
		}
		if o.ReservationCapacity < 0 {
			c.problem(field+".reservationCapacity", "%d: below zero; write how many instances are left of the reservation", o.ReservationCapacity)
		}
	default:
		c.problem(field+".capacityType", "%q: must be spot, on-demand or reserved", o.CapacityType)
	}
	switch price := o.PricePerHour; {
	case price == nil:
		c.problem(field+".pricePerHour", "not set; write dollars per hour")
	case !(*price >= 0 && *price <= maxPriceUSD): // also what is no number
		c.problem(field+".pricePerHour", "%v: must be from 0 to %v dollars per hour", *price, maxPriceUSD)
	default:
		out.Price = model.MicroUSD(math.Round(*price * microPerUnit))
	}
	return out
}

// addOffered adds the labels that the launch decides.
func addOffered(t *model.InstanceType) {
	for _, o := range t.Offerings {
		t.Labels[model.LabelZone] = append(t.Labels[model.LabelZone], o.Zone)
		t.Labels[model.LabelCapacityType] = append(t.Labels[model.LabelCapacityType], o.CapacityType)
		if o.ReservationID != "" {
			t.Labels[reservationLabel] = append(t.Labels[reservationLabel], o.ReservationID)
		}
	}
	for _, key := range []string{model.LabelZone, model.LabelCapacityType, reservationLabel} {
		if values := t.Labels[key]; values != nil {
			slices.Sort(values)
			t.Labels[key] = slices.Compact(values)
		}
	}
}

const reservationLabel = "karpenter.k8s.aws/capacity-reservation-id"

// fieldOf returns the path of a key below a field.
func fieldOf(field, key string) string {
	if strings.ContainsAny(key, "./[]\" ") {
		return fmt.Sprintf("%s[%q]", field, key)
	}
	return field + "." + key
}
