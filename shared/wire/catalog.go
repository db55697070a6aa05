package wire

import (
	"encoding/binary"
	"encoding/json"
	"reflect"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// CatalogVersion is the version instance catalogs are written in, and the newest that is read.
const CatalogVersion = 1

// Limits of an instance catalog. A region has about 900 types in six zones.
const (
	MaxCatalogBytes         = 4 << 20   // as stored
	maxCatalogExpandedBytes = 32 << 20  // unpacked
	maxCatalogDecodedBytes  = 128 << 20 // its head in memory, by weight
	maxCatalogTypes         = 10_000
	maxCatalogZones         = 100
	maxCatalogOfferings     = 1_000 // of one type
)

var catalogForm = headForm(reflect.TypeFor[catalogHead](),
	map[string]int{"types": maxCatalogTypes, "zones": maxCatalogZones}, MaxObjects)

// An unpacked catalog is: magic, version (1 byte), length of the JSON head (uvarint), head, offerings. The offerings of
// each type are a count, then for each its way of being bought (1 byte), its zone (uvarint) and its price less that of
// the type's offering before it that is bought the same way (varint).
const catalogMagic = "JNC\x00"

const (
	wayOnDemand    = 0
	waySpot        = 1
	wayUnavailable = 1 << 1
)

// catalogHead is the catalog without its offerings.
type catalogHead struct {
	model.InstanceCatalog
	Zones []catalogZone `json:"zones"` // in the order of first use
}

type catalogZone struct {
	Name string `json:"name"`
	ID   string `json:"id,omitempty"`
}

// EncodeCatalog returns an instance catalog. Same catalog, same bytes. Invalid where types are not sorted by name, an
// offering is of reserved capacity (which belongs to classes, not to the region) or costs less than nothing, or a limit
// is passed.
func EncodeCatalog(catalog *model.InstanceCatalog) ([]byte, error) {
	if err := validateCatalog(catalog); err != nil {
		return nil, err
	}
	head := catalogHead{InstanceCatalog: *catalog}
	head.Types = make([]model.InstanceTypeInfo, len(catalog.Types))
	number := map[catalogZone]uint64{}
	var offerings []byte
	for i, m := range catalog.Types {
		offerings = binary.AppendUvarint(offerings, uint64(len(m.Offerings)))
		var before [2]model.MicroUSD
		for _, o := range m.Offerings {
			zone := catalogZone{o.Zone, o.ZoneID}
			if _, known := number[zone]; !known {
				number[zone] = uint64(len(head.Zones))
				head.Zones = append(head.Zones, zone)
			}
			way := wayOf(o.CapacityType)
			flags := way
			if !o.Available {
				flags |= wayUnavailable
			}
			offerings = binary.AppendUvarint(append(offerings, flags), number[zone])
			offerings = binary.AppendVarint(offerings, int64(o.Price-before[way]))
			before[way] = o.Price
		}
		m.Offerings = nil
		head.Types[i] = m
	}
	if len(head.Zones) > maxCatalogZones {
		return nil, fault.New(fault.Invalid, "TooLarge",
			"the catalog has %d zones, at most %d are read", len(head.Zones), maxCatalogZones)
	}
	text, err := json.Marshal(head)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "", err, "encode catalog")
	}
	plain := append([]byte(catalogMagic), CatalogVersion)
	plain = append(binary.AppendUvarint(plain, uint64(len(text))), text...)
	plain = append(plain, offerings...)
	if len(plain) > maxCatalogExpandedBytes {
		return nil, fault.New(fault.Invalid, "TooLarge",
			"the catalog has %d bytes, at most %d are read", len(plain), maxCatalogExpandedBytes)
	}
	return new(Compressor).within(MaxCatalogBytes, "the catalog", plain)
}

func wayOf(capacityType string) byte {
	if capacityType == model.Spot {
		return waySpot
	}
	return wayOnDemand
}

// DecodeCatalog reads what EncodeCatalog wrote. Invalid for anything else.
func DecodeCatalog(data []byte) (*model.InstanceCatalog, error) {
	plain, err := decompress("the catalog", data, MaxCatalogBytes, maxCatalogExpandedBytes)
	if err != nil {
		return nil, err
	}
	r := &reader{rest: plain}
	if string(r.take(len(catalogMagic))) != catalogMagic {
		return nil, fault.New(fault.Invalid, "Malformed", "not a catalog of instance types")
	}
	version := r.take(1)
	if version == nil || version[0] < 1 || version[0] > CatalogVersion {
		return nil, fault.New(fault.Invalid, "UnknownVersion",
			"the catalog has version %v, versions 1 to %d are read", version, CatalogVersion)
	}
	text := r.take(r.length())
	if r.failed {
		return nil, fault.New(fault.Invalid, "Malformed", "the catalog ends early")
	}
	if _, err := weigh("the catalog", text, catalogForm, maxCatalogDecodedBytes); err != nil {
		return nil, err
	}
	var head catalogHead
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fault.Wrap(fault.Invalid, "Malformed", err, "decode catalog")
	}
	for i := range head.Types {
		head.Types[i].Offerings = r.offerings(head.Zones)
	}
	if r.failed || len(r.rest) > 0 || len(head.Zones) > maxCatalogZones {
		return nil, fault.New(fault.Invalid, "Malformed", "offerings of the catalog are damaged")
	}
	if err := validateCatalog(&head.InstanceCatalog); err != nil {
		return nil, err
	}
	return &head.InstanceCatalog, nil
}

// offeringBytes is the least an offering takes: way, zone, price.
const offeringBytes = 3

func (r *reader) offerings(zones []catalogZone) []model.Offering {
	count := r.length()
	if count == 0 || count > len(r.rest)/offeringBytes || count > maxCatalogOfferings {
		if count != 0 {
			r.fail()
		}
		return nil
	}
	offerings := make([]model.Offering, count)
	var before [2]model.MicroUSD
	for i := range offerings {
		flags := r.take(1)
		zone := r.uvarint()
		price := r.varint()
		if r.failed || flags[0] > waySpot|wayUnavailable || zone >= uint64(len(zones)) {
			r.fail()
			return nil
		}
		way := flags[0] & waySpot
		before[way] += model.MicroUSD(price)
		offerings[i] = model.Offering{
			Zone: zones[zone].Name, ZoneID: zones[zone].ID, CapacityType: model.OnDemand, Price: before[way],
			Available: flags[0]&wayUnavailable == 0,
		}
		if way == waySpot {
			offerings[i].CapacityType = model.Spot
		}
	}
	return offerings
}

func validateCatalog(catalog *model.InstanceCatalog) error {
	if len(catalog.Types) > maxCatalogTypes {
		return fault.New(fault.Invalid, "TooLarge",
			"the catalog has %d types, at most %d are read", len(catalog.Types), maxCatalogTypes)
	}
	for i := range catalog.Types {
		m := &catalog.Types[i]
		if m.Name == "" || i > 0 && catalog.Types[i-1].Name >= m.Name {
			return fault.New(fault.Invalid, "Malformed",
				"types[%d] %q of the catalog is not sorted by name, or has none", i, m.Name)
		}
		if len(m.Offerings) > maxCatalogOfferings {
			return fault.New(fault.Invalid, "TooLarge",
				"type %s of the catalog has %d offerings, at most %d are read",
				m.Name, len(m.Offerings), maxCatalogOfferings)
		}
		for _, o := range m.Offerings {
			if o.CapacityType != model.OnDemand && o.CapacityType != model.Spot || o.ReservationID != "" {
				return fault.New(fault.Invalid, "Malformed", "type %s of the catalog has an offering of capacity"+
					" type %q; a region's catalog has only on-demand and spot ones", m.Name, o.CapacityType)
			}
			if o.Price < 0 {
				return fault.New(fault.Invalid, "Malformed",
					"type %s of the catalog costs %d in %s", m.Name, o.Price, o.Zone)
			}
		}
	}
	return nil
}
