/** The name of the tool by which a model hands in an answer that follows a schema. */
export const SET_MODEL_RESPONSE = 'set_model_response';
