package wire

import (
	"net/http"

	"github.com/aws/smithy-go/encoding/cbor"
)

// CBORType is the content type of Smithy RPC v2 with CBOR.
const CBORType = "application/cbor"

// WriteCBOR writes an answer of Smithy RPC v2 with CBOR.
func WriteCBOR(w http.ResponseWriter, status int, value cbor.Map) {
	w.Header().Set("Content-Type", CBORType)
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	w.WriteHeader(status)
	w.Write(cbor.Encode(value)) // a client that has gone is not the model's concern
}

// WriteCBORError writes err as Smithy RPC v2 with CBOR does.
func WriteCBORError(w http.ResponseWriter, err error) {
	e := AsError(err)
	setHeaders(w, e)
	WriteCBOR(w, e.HTTPStatus(), cbor.Map{"__type": cbor.String(e.Code), "message": cbor.String(e.Message)})
}
