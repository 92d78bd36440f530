package papir

import (
	"context"
	"errors"
	"fmt"

	"papir.example/go/internal/wire"
)

// Error is an error of this package. All errors that its functions return are of this type.
type Error struct {
	// Code is a short, stable word for programs, the same as in papir's other clients: of a refusal
	// of the service its own code, such as `busy` or `unauthorized`, else one of this package, such
	// as `not_decodable`, `not_verified`, `no_checkpoint`, `checkpoint_rollback` or `timed_out`.
	Code string
	// URL is the address of the request that failed; empty if there was none.
	URL string
	// Status is the HTTP status of a refusal; 0 for any other error.
	Status int
	// Message says what was found and what was expected.
	Message string

	cause error
	// current is the version that a refusal names.
	current string
}

func (e *Error) Error() string {
	text := "papir: "
	if e.URL != "" {
		text += e.URL + ": "
	}
	if e.Status != 0 {
		text += fmt.Sprintf("%d %s: ", e.Status, e.Code)
	}
	return text + e.Message
}

// Unwrap returns the error that caused this one, such as context.Canceled.
func (e *Error) Unwrap() error { return e.cause }

// CodeOf returns the code of an error of this package; empty for any other error.
func CodeOf(err error) string {
	var one *Error
	if errors.As(err, &one) {
		return one.Code
	}
	return ""
}

func newError(code, url, format string, arguments ...any) *Error {
	return &Error{Code: code, URL: url, Message: fmt.Sprintf(format, arguments...)}
}

// wrap makes an error of this package of one of the formats.
func wrap(url string, err error) error {
	var refused *wire.Error
	var own *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	case errors.As(err, &refused):
		return &Error{Code: refused.Code, URL: url, Message: refused.Text}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: "timed_out", URL: url, Message: "no answer within the time limit", cause: err}
	case errors.Is(err, context.Canceled):
		return &Error{Code: "canceled", URL: url, Message: "the call was canceled", cause: err}
	default:
		return &Error{Code: "transport", URL: url, Message: err.Error(), cause: err}
	}
}
