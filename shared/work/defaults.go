package work

import (
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// WithDefaults returns settings in which each field that is zero has the value of its tag, such as
//
//	LeaseMargin time.Duration `default:"2s"`
//	MaxEvents   int           `default:"100"`
//
// It panics where a tag is no duration or whole number.
func WithDefaults[Settings any](settings Settings) Settings {
	fields := reflect.ValueOf(&settings).Elem()
	for i := range fields.NumField() {
		field, of := fields.Field(i), fields.Type().Field(i)
		text, tagged := of.Tag.Lookup("default")
		if !tagged || !field.IsZero() {
			continue
		}
		value, err := strconv.ParseInt(text, 10, 64)
		if of.Type == reflect.TypeFor[time.Duration]() {
			var d time.Duration
			d, err = time.ParseDuration(text)
			value = int64(d)
		}
		if err != nil {
			panic(fmt.Sprintf("default of %s: %v", of.Name, err))
		}
		field.SetInt(value)
	}
	return settings
}
