package model

// Overlay is a NodeOverlay: what is to be corrected of the offerings that its requirements select.
type Overlay struct {
	Name         string        `json:"name"`
	UID          string        `json:"uid"`
	Generation   int64         `json:"generation,omitempty"`
	Weight       int32         `json:"weight,omitempty"` // 1..10000, the heaviest counts; 0 = unset
	Requirements []Requirement `json:"requirements,omitempty"`
	// Price in dollars per hour as it is written, "0.085"; empty = it stays. PriceAdjustment is what is added to the
	// price or taken off, "+0.02", "-10%". At most one of them is set.
	Price           string    `json:"price,omitempty"`
	PriceAdjustment string    `json:"priceAdjustment,omitempty"`
	Capacity        Resources `json:"capacity,omitempty"` // extended resources and huge pages

	// Invalid says why the overlay is not applied, each a sentence naming field, value and remedy. Empty = usable.
	Invalid []string `json:"invalid,omitempty"`

	Status OverlayStatus `json:"status"` // what its object says
}

// OverlayStatus is what a NodeOverlay says of itself. Two are equal where nothing has to be written.
type OverlayStatus struct {
	// of condition ValidationSucceeded: True, False; empty = it is not there
	Status     string `json:"status,omitempty"`
	Reason     string `json:"reason,omitempty"`
	Message    string `json:"message,omitempty"`
	Generation int64  `json:"generation,omitempty"` // observedGeneration
}

// Reasons why a NodeOverlay is not applied.
const (
	OverlayInvalid  = "RuntimeValidation"
	OverlayConflict = "Conflict"
)

// OverlayReport is what a NodeOverlay's object is to say.
type OverlayReport struct {
	Name, UID string
	Status    OverlayStatus
}

// CatalogKey names what a pool can buy, in catalogs by class: the class, unless overlays change what the pool sees of
// it.
func CatalogKey(class, pool string) string { return class + "/" + pool } // names of classes have no slash

// CatalogName returns the name under which catalogs have what a pool with the class can buy: one of the pool's own
// where overlays change what it sees, else the class.
func CatalogName(catalogs map[string][]InstanceType, class, pool string) string {
	// This key is not kept, so that it need not be allocated.
	if _, own := catalogs[CatalogKey(class, pool)]; own {
		return CatalogKey(class, pool)
	}
	return class
}

// CatalogOf returns what a pool with the class can buy; nil where nothing is known of it.
func CatalogOf(catalogs map[string][]InstanceType, class, pool string) []InstanceType {
	return catalogs[CatalogName(catalogs, class, pool)]
}
